import { type Static, Type } from "typebox";
import { Instant, named, orNull, StringOrNull } from "./fields.ts";

const version = Type.String({ description: "of the IANA time zone database, as 2026f" });

const ChangeoverBody = named("Changeover", {
  version,
  since: orNull(Instant("when it came, or comes, into force"), "null: it was so from the beginning"),
});

export const TimeZonesBody = named("TimeZoneData", {
  version,
  releasedOn: StringOrNull("the day of its release"),
  changeovers: Type.Array(ChangeoverBody, {
    description: "versions that have come into force, and those that will within seconds, in order",
  }),
  available: Type.Array(version, {
    description: "versions that may be brought into force: those that the store has, and those that this node brings",
  }),
});
export type TimeZonesBody = Static<typeof TimeZonesBody>;

export const TimeZonesRequest = named("TimeZoneDataRequest", { version }, { additionalProperties: false });
