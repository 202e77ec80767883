import type { JobBody } from "@mainspring/contract";
import { useState } from "preact/hooks";
import { ask } from "../../api/client.ts";
import { Form } from "../../parts/form.tsx";
import { SureButton } from "../../parts/sure-button.tsx";
import { countText } from "../../text/figures.ts";
import { SCHEDULE_TEXTS } from "../../texts/schedule-texts.ts";
import { TEXTS } from "../../texts.ts";
import { countNotRun } from "./read-ledger.ts";

interface Wanted {
  since: string;
  until?: string;
  maxRunning: number;
  /** Words for the number of executions; null: there is nothing to run. */
  text: string | null;
}

/** Runs a recurring job for instants of the past, after a preview of how many there are. */
export function Backfill({ job, done }: { job: JobBody; done(): void }) {
  const [wanted, setWanted] = useState<Wanted | null>(null);
  const [started, setStarted] = useState<string | null>(null);
  const preview = async ({ since = "", until, maxRunning = "1" }: Record<string, string>) => {
    const { count, isPart } = await countNotRun(job, since, until);
    const words = isPart ? SCHEDULE_TEXTS.backfillAtLeast : SCHEDULE_TEXTS.backfillOf;
    const text = count === 0 && !isPart ? null : words(countText(count));
    setStarted(null);
    setWanted({ since, ...(until !== undefined && { until }), maxRunning: Number(maxRunning), text });
  };
  const start = async () => {
    if (wanted === null) return;
    const { text: _text, ...body } = wanted;
    const { backfill } = await ask<{ backfill: { planned: number } }>(`jobs/${job.jobId}/backfill`, {
      method: "POST",
      body,
    });
    setStarted(SCHEDULE_TEXTS.backfillStarted(countText(backfill.planned)));
    setWanted(null);
    done();
  };
  return (
    <section>
      <h2>{SCHEDULE_TEXTS.backfill}</h2>
      <Form
        label={SCHEDULE_TEXTS.preview}
        help={SCHEDULE_TEXTS.backfillHelp}
        act={preview}
        fields={[
          { name: "since", label: SCHEDULE_TEXTS.since, hint: TEXTS.timeHint, isRequired: true },
          { name: "until", label: SCHEDULE_TEXTS.until, hint: TEXTS.timeHint },
          { name: "maxRunning", label: SCHEDULE_TEXTS.atOnce, value: "1", isNumber: true },
        ]}
      />
      {wanted !== null && <p role="status">{wanted.text ?? SCHEDULE_TEXTS.backfillNone}</p>}
      {wanted !== null && wanted.text !== null && (
        <SureButton
          label={SCHEDULE_TEXTS.backfill}
          help={SCHEDULE_TEXTS.backfillSure(wanted.text, countText(wanted.maxRunning))}
          act={start}
        />
      )}
      {started !== null && <p role="status">{started}</p>}
    </section>
  );
}
