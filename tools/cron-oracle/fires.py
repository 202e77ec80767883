"""Reads cases as JSON lines, and writes the fires of each as Python's cronsim and zoneinfo have them; or null with the refusal."""

import json
import sys
import zoneinfo
from datetime import datetime, timezone

from cronsim import CronSim

# The data of the package tzdata, and not the system's.
zoneinfo.reset_tzpath(to=())
UTC = timezone.utc


def fires(case):
    zone = zoneinfo.ZoneInfo(case["timezone"])
    after = datetime.fromisoformat(case["after"].replace("Z", "+00:00")).astimezone(zone)
    found = []
    for at in CronSim(case["cron"], after):
        instant = at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        # Several times of one gap fire together.
        if instant not in found:
            found.append(instant)
        if len(found) == case["fires"]:
            break
    return found


for line in sys.stdin:
    try:
        print(json.dumps(fires(json.loads(line))))
    except Exception as error:
        print(json.dumps(f"{type(error).__name__}: {error}"))
