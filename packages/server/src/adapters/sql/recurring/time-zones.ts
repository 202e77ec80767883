import type { Changeover } from "../../../domain/changeover.ts";
import type { ZoneFilesText } from "../../../domain/schedule/zones/zone-files.ts";
import type { StoreTimeZones } from "../../../ports/store-time-zones.ts";
import type { AuditTrail } from "../audit/audit-trail.ts";
import type { Connections } from "../connection/connections.ts";

const CHANGEOVERS = `
  SELECT number, version, since FROM (
    SELECT number, version, since FROM tzdata_changeovers ORDER BY number DESC LIMIT 1000
  ) latest ORDER BY number`;

const READ = "SELECT version, released_on, zones FROM tzdata_versions WHERE version = $1";

const VERSIONS = "SELECT version FROM tzdata_versions ORDER BY version";

/** The number of the changeover is unique, so of two concurrent nodes one succeeds. */
const CHANGE_OVER = `
  WITH kept AS (
    INSERT INTO tzdata_versions (version, released_on, zones)
    SELECT $2::text, $3::text, $4::text
    WHERE $4::text IS NOT NULL AND (SELECT coalesce(max(number), 0) FROM tzdata_changeovers) = $1::int - 1
    ON CONFLICT DO NOTHING
  )
  INSERT INTO tzdata_changeovers (number, version, since)
  SELECT $1::int, $2::text, CASE WHEN $1::int = 1 AND NOT EXISTS (SELECT FROM plans) THEN 0
    ELSE ceil(extract(epoch FROM clock_timestamp()) * 1000)::bigint + $5::int END
  WHERE (SELECT coalesce(max(number), 0) FROM tzdata_changeovers) = $1::int - 1
    AND ($4::text IS NOT NULL OR EXISTS (SELECT FROM tzdata_versions WHERE version = $2::text))
  ON CONFLICT DO NOTHING RETURNING number`;

/** See StoreTimeZones. */
export function timeZones(db: Connections, trail: AuditTrail): StoreTimeZones {
  return {
    changeovers: async () => {
      const rows = await db.run("read", { name: "changeovers", text: CHANGEOVERS, values: [] });
      return rows.map(([number, version, since]) => ({ number, version, since }) as Changeover);
    },
    read: async (version) => {
      const [row] = await db.run("query", { text: READ, values: [version] });
      if (row === undefined) return null;
      const [name, releasedOn, zones] = row as [string, string | null, string];
      return { version: name, releasedOn, zones: JSON.parse(zones) as ZoneFilesText["zones"] };
    },
    versions: async () => (await db.run("query", { text: VERSIONS, values: [] })).map(([version]) => version as string),
    changeOver: async (number, version, data, leadMs, note) => {
      const zones = data === null ? null : JSON.stringify(data.zones);
      const values = [number, version, data?.releasedOn ?? null, zones, leadMs];
      return (await trail.run("query", note, { text: CHANGE_OVER, values })).length === 1;
    },
  };
}
