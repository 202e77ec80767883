import type { ChangedBody, JobBody } from "@mainspring/contract";
import { MISFIRES, OVERLAPS } from "@mainspring/contract/enums";
import { useMemo, useState } from "preact/hooks";
import { ask, RequestFailed } from "../../api/client.ts";
import { Failure } from "../../parts/failure.tsx";
import { JsonField } from "../../parts/json-field.tsx";
import { useAction } from "../../state/use-answer.ts";
import { visible } from "../../text/visible.ts";
import { SCHEDULE_TEXTS } from "../../texts/schedule-texts.ts";
import { TEXTS } from "../../texts.ts";
import {
  changedByBoth,
  DRAFT_FIELDS,
  type Draft,
  type DraftField,
  draftOf,
  isGoodDraft,
  requestOf,
  settingsIn,
} from "./job-draft.ts";
import { SchedulePreview } from "./schedule-preview.tsx";

const VALUES: Partial<Record<DraftField, readonly string[]>> = { overlap: OVERLAPS, misfire: MISFIRES };
const PRECONDITION_FAILED = 412;

interface EditJobProps {
  job: JobBody;
  reload(): void;
}

/** Form that changes the definition of a job. */
export function EditJob(props: EditJobProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="form" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{SCHEDULE_TEXTS.edit}</summary>
      {isOpen && <Editor {...props} />}
    </details>
  );
}

function Editor({ job, reload }: EditJobProps) {
  const [begun, setBegun] = useState(job);
  const [given, setGiven] = useState<Partial<Draft>>({});
  // The version that the user began with stays when the page reads a later one.
  const base = Object.keys(given).length === 0 ? job : begun;
  const [saved, setSaved] = useState<ChangedBody | null>(null);
  /** Version with which the last request was made: a failure is shown until the user goes on from another one. */
  const [asked, setAsked] = useState(0);
  const own = useMemo(() => draftOf(base), [base]);
  const draft = { ...own, ...given };
  const isGood = useMemo(() => isGoodDraft(draft), [draft.payload, draft.settings]);
  const begin = (from: JobBody, keep: Partial<Draft>) => {
    setBegun(from);
    setGiven(keep);
  };
  const change = (field: DraftField) => (text: string) => {
    setSaved(null);
    begin(base, { ...given, [field]: text });
  };
  const save = async () => {
    setAsked(base.version);
    try {
      const request = { method: "PUT", text: requestOf(draft), ifVersion: base.version } as const;
      setSaved(await ask<ChangedBody>(`jobs/${job.jobId}`, request));
      setGiven({});
    } catch (error) {
      // The page then reads the later version, and the form offers ways on.
      if (error instanceof RequestFailed && error.problem.status === PRECONDITION_FAILED) reload();
      throw error;
    }
  };
  const action = useAction(save, reload);
  return (
    <>
      <p class="dim">{SCHEDULE_TEXTS.editHelp}</p>
      <Fields {...{ draft, change }} />
      {draft.schedule !== undefined && <Preview draft={draft} />}
      <JsonField label={SCHEDULE_TEXTS.payload} value={draft.payload} change={change("payload")} />
      <JsonField label={SCHEDULE_TEXTS.settings} value={draft.settings} change={change("settings")} />
      <Failure of={asked === base.version ? action.failure : null} />
      {job.version > base.version && <Conflict {...{ job, base, given, begin }} />}
      <button type="button" class="main" disabled={!isGood || action.isRunning} onClick={action.run}>
        {SCHEDULE_TEXTS.save}
      </button>
      {saved !== null && action.failure === null && <Saved of={saved} />}
    </>
  );
}

function Fields({ draft, change }: { draft: Draft; change(field: DraftField): (text: string) => void }) {
  return (
    <div class="filters">
      {DRAFT_FIELDS.filter((field) => draft[field] !== undefined).map((field) => (
        <label key={field}>
          <span>{SCHEDULE_TEXTS.editFields[field]}</span>
          {VALUES[field] === undefined ? (
            <input value={draft[field]} maxLength={256} onInput={(event) => change(field)(event.currentTarget.value)} />
          ) : (
            <select value={draft[field]} onChange={(event) => change(field)(event.currentTarget.value)}>
              {VALUES[field].map((value) => (
                <option key={value}>{value}</option>
              ))}
            </select>
          )}
        </label>
      ))}
    </div>
  );
}

function Preview({ draft: { schedule = "", timezone = "", settings } }: { draft: Draft }) {
  const { dst } = (settingsIn(settings) ?? {}) as Pick<JobBody, "dst">;
  return <SchedulePreview {...{ schedule, timezone }} {...(dst !== undefined && { dst })} />;
}

interface ConflictProps {
  /** The job as it is now. */
  job: JobBody;
  base: JobBody;
  given: Partial<Draft>;
  begin(from: JobBody, keep: Partial<Draft>): void;
}

/** Somebody else has changed the job since the user began. */
function Conflict({ job, base, given, begin }: ConflictProps) {
  const both = changedByBoth(given, draftOf(base), draftOf(job)).map((field) => SCHEDULE_TEXTS.editFields[field]);
  return (
    <div class="failure" role="alert">
      <strong>{SCHEDULE_TEXTS.changedMeanwhile(`${job.version}`, `${base.version}`)}</strong>
      <p>{both.length === 0 ? SCHEDULE_TEXTS.noneByBoth : SCHEDULE_TEXTS.byBoth(both.join(", "))}</p>
      <p class="row">
        <button type="button" onClick={() => begin(job, given)}>
          {SCHEDULE_TEXTS.keepMine}
        </button>
        <button type="button" class="quiet" onClick={() => begin(job, {})}>
          {SCHEDULE_TEXTS.takeTheirs}
        </button>
      </p>
    </div>
  );
}

function Saved({ of: { version, execution, warnings = [] } }: { of: ChangedBody }) {
  return (
    <div role="status">
      <p>
        {TEXTS.version} {version}. {SCHEDULE_TEXTS.changes[execution]}
      </p>
      {warnings.map((warning) => (
        <p key={warning}>{visible(warning)}</p>
      ))}
    </div>
  );
}
