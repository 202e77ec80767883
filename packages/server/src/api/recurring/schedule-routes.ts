import { SchedulePreview, SchedulePreviewBody } from "@mainspring/contract";
import { checkSchedule } from "../../domain/schedule/check.ts";
import { previewFires } from "../../domain/schedule/preview.ts";
import { DEFAULT_DST, type Schedule } from "../../domain/schedule/schedule.ts";
import { scheduleWords } from "../../domain/schedule/words/schedule-words.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { Turns } from "../../ports/turns.ts";
import { answer, problems } from "../http/documented.ts";
import { invalid, ProblemError } from "../http/errors.ts";
import type { HttpApp } from "../http/http-app.ts";
import { parseInstant } from "../http/instants.ts";
import { zoneWarnings } from "../submit/job-warnings.ts";
import { fieldError } from "../submit/recurrence-rule.ts";
import { fireBody } from "./plan-views.ts";

const COUNT_DEFAULT = 10;

/** Route POST /v1/schedules/preview */
export function scheduleRoutes(app: HttpApp, runtime: Runtime, turns: Turns): void {
  const schema = {
    operationId: "previewSchedule",
    tags: ["schedules"],
    summary: "A schedule in words, its next fires, and what clock changes do to them; nothing is kept",
    body: SchedulePreview,
    response: {
      200: answer(SchedulePreviewBody, "The next fires"),
      ...problems("payload-too-large", "unsupported-media-type"),
    },
  };
  app.post(
    "/v1/schedules/preview",
    { schema, config: { scope: "jobs:submit" } },
    async ({ body }): Promise<SchedulePreviewBody> => {
      const schedule = scheduleOf(body);
      // The schema has accepted the text.
      const after = body.after === undefined ? runtime.now() : (parseInstant(body.after) as number);
      const { fires, words } = await turns.run(() => {
        const refusals = checkSchedule(schedule, after);
        if (refusals.length > 0) throw new ProblemError(invalid(refusals.map(fieldError)));
        const count = body.count ?? COUNT_DEFAULT;
        return { fires: previewFires(schedule, after, 0, count), words: scheduleWords(schedule) };
      });
      return { words, fires: fires.map(fireBody), ...zoneWarnings(body.timezone) };
    },
  );
}

function scheduleOf({ schedule, timezone = "UTC", dst = {} }: SchedulePreview): Schedule {
  const times = { type: "CRON", cron: schedule, timezone, dst: { ...DEFAULT_DST, ...dst } } as const;
  return { times, startAt: null, endAt: null, maxFires: null, shiftMs: 0 };
}
