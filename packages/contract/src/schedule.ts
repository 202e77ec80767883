import { type Static, Type } from "typebox";
import { Instant, named, oneOf } from "./fields.ts";

const closed = { additionalProperties: false } as const;

export const ScheduleText = Type.String({
  description:
    "a cron expression: five fields (minute, hour, day of month, month, day of week), or six with the second before " +
    "them; lists, ranges, steps, names, L, W and #; or @yearly, @monthly, @weekly, @daily, @hourly",
  examples: ["30 2 * * *", "0 9 * * MON-FRI", "@daily"],
});

export const TimeZoneName = Type.String({
  description: "the clocks that the schedule goes by: a name of the IANA time zone database; default UTC",
  examples: ["America/New_York"],
});

export const DstFields = Type.Partial(
  Type.Object({
    gap: oneOf(
      ["SHIFT", "SKIP"],
      "a fixed time that does not exist, as the clocks go forward, fires once at the first instant after the gap " +
        "(SHIFT, the default) or not that day",
    ),
    fold: oneOf(
      ["FIRST", "LAST", "BOTH"],
      "when a fixed time that comes twice, as the clocks go back, fires; default FIRST",
    ),
  }),
  { ...closed, title: "DstPolicy" },
);

export const FireCount = Type.Integer({ minimum: 1, maximum: 1_000, description: "how many fires; default 10" });

export const SchedulePreview = named(
  "SchedulePreviewRequest",
  {
    schedule: ScheduleText,
    timezone: Type.Optional(TimeZoneName),
    dst: Type.Optional(DstFields),
    after: Type.Optional(Instant("all fires come after it; default: the present; ISO 8601 with a zone")),
    count: Type.Optional(FireCount),
  },
  closed,
);
export type SchedulePreview = Static<typeof SchedulePreview>;

export const LocalTime = Type.String({
  description: "the same on the clocks of the time zone, as 2025-03-09T03:00:00-04:00",
});

export const FireBody = named("Fire", {
  at: Instant("when it fires, in UTC"),
  local: LocalTime,
  note: Type.Optional(
    Type.String({
      description: "what a clock change did to it: begins with moved, merged, dropped or doubled; else left out",
    }),
  ),
});
export type FireBody = Static<typeof FireBody>;

export const ScheduleWords = Type.String({
  description: "the schedule in English, as it was understood; for people, so releases may word it differently",
  examples: ["at 02:30 on weekdays in Europe/Berlin"],
});

export const Warnings = Type.Optional(
  Type.Array(Type.String(), {
    description:
      "what may be a mistake, as a handler that no worker offers now, and what the next release refuses, each with what to do; else left out",
  }),
);

export const SchedulePreviewBody = named("SchedulePreview", {
  words: ScheduleWords,
  fires: Type.Array(FireBody, { description: "in order; fewer than asked for where no more come within 50 years" }),
  warnings: Warnings,
});
export type SchedulePreviewBody = Static<typeof SchedulePreviewBody>;
