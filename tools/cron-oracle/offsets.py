"""Reads names of zones as JSON lines, and writes the offsets of each as Python's zoneinfo has them: [since, offset] in seconds, ascending."""

import json
import sys
import zoneinfo
from datetime import datetime, timezone

# The data of the package tzdata, and not the system's.
zoneinfo.reset_tzpath(to=())
FROM = int(datetime(2023, 1, 1, tzinfo=timezone.utc).timestamp())
UNTIL = int(datetime(2042, 1, 1, tzinfo=timezone.utc).timestamp())
STEP = 86_400


def offset(zone, at):
    return int(datetime.fromtimestamp(at, zone).utcoffset().total_seconds())


def change(zone, since, until):
    """The first second of (since, until] with the offset of `until`; the zone changes once in between."""
    later = offset(zone, until)
    while until - since > 1:
        middle = (since + until) // 2
        if offset(zone, middle) == later:
            until = middle
        else:
            since = middle
    return until


def offsets(name):
    zone = zoneinfo.ZoneInfo(name)
    found = [[FROM, offset(zone, FROM)]]
    for at in range(FROM, UNTIL, STEP):
        if offset(zone, at + STEP) != found[-1][1]:
            since = change(zone, at, at + STEP)
            found.append([since, offset(zone, since)])
    return found


for line in sys.stdin:
    print(json.dumps(offsets(json.loads(line))))
