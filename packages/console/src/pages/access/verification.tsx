import { anchorsIn } from "@mainspring/contract/audit-log";
import { useEffect, useRef, useState } from "preact/hooks";
import { RequestFailed } from "../../api/client.ts";
import { Failure } from "../../parts/failure.tsx";
import { countText } from "../../text/figures.ts";
import { visible } from "../../text/visible.ts";
import { ACCESS_TEXTS } from "../../texts/access-texts.ts";
import { TEXTS } from "../../texts.ts";
import { NoPublicKey, RECORDS_MAX, type Verified, verifyLog } from "./verify-log.ts";

type Progress =
  | { state: "IDLE" }
  | { state: "RUNS"; records: number }
  | { state: "DONE"; found: Verified; hasKey: boolean; kept: number }
  | { state: "FAILED"; failure: RequestFailed | null; text: string };

/** Verifies the audit log in the browser, and says what that proves. */
export function Verification() {
  const [key, setKey] = useState("");
  const [lines, setLines] = useState("");
  const [progress, setProgress] = useState<Progress>({ state: "IDLE" });
  const stop = useRef(new AbortController());
  useEffect(() => () => stop.current.abort(), []);
  const run = async () => {
    const kept = anchorsIn(lines);
    if (lines.trim() !== "" && kept.length === 0) {
      setProgress({ state: "FAILED", failure: null, text: ACCESS_TEXTS.noAnchors });
      return;
    }
    stop.current = new AbortController();
    const { signal } = stop.current;
    const tell = (records: number) => !signal.aborted && setProgress({ state: "RUNS", records });
    tell(0);
    try {
      const found = await verifyLog({ key, kept, signal, tell });
      setProgress({ state: "DONE", found, hasKey: key.trim() !== "", kept: kept.length });
    } catch (error) {
      setProgress(signal.aborted ? { state: "IDLE" } : failed(error));
    }
  };
  return (
    <section>
      <h2>{ACCESS_TEXTS.verification}</h2>
      <p>{ACCESS_TEXTS.verifyHelp}</p>
      <pre>{ACCESS_TEXTS.verifyCommand}</pre>
      <details class="form">
        <summary>{ACCESS_TEXTS.verifyHere}</summary>
        <p>{ACCESS_TEXTS.verifyHereHelp}</p>
        {globalThis.isSecureContext ? (
          <>
            <TextField label={ACCESS_TEXTS.publicKey} value={key} change={setKey} />
            <TextField label={ACCESS_TEXTS.keptAnchors} value={lines} change={setLines} />
            <p class="row">
              <button type="button" class="main" disabled={progress.state === "RUNS"} onClick={() => void run()}>
                {ACCESS_TEXTS.verifyNow}
              </button>
              {progress.state === "RUNS" && (
                <button type="button" class="quiet" onClick={() => stop.current.abort()}>
                  {TEXTS.cancel}
                </button>
              )}
            </p>
          </>
        ) : (
          <p role="alert">{ACCESS_TEXTS.notSecure}</p>
        )}
        <Outcome of={progress} />
      </details>
    </section>
  );
}

function failed(error: unknown): Progress {
  if (error instanceof RequestFailed) return { state: "FAILED", failure: error, text: "" };
  if (error instanceof NoPublicKey) return { state: "FAILED", failure: null, text: ACCESS_TEXTS.noPublicKey };
  throw error;
}

function TextField({ label, value, change }: { label: string; value: string; change(text: string): void }) {
  return (
    <label>
      <span>{label}</span>
      <textarea rows={4} spellcheck={false} value={value} onInput={(event) => change(event.currentTarget.value)} />
    </label>
  );
}

function Outcome({ of }: { of: Progress }) {
  if (of.state === "IDLE") return null;
  if (of.state === "RUNS") return <p role="status">{ACCESS_TEXTS.verifying(countText(of.records))}</p>;
  if (of.state === "FAILED") {
    return of.failure === null ? <p role="alert">{of.text}</p> : <Failure of={of.failure} />;
  }
  const { records, chains, anchors, isWhole, fault } = of.found;
  if (fault !== null) {
    return (
      <div class="failure" role="alert">
        <strong>{ACCESS_TEXTS.verifyFault(fault.kind)}</strong>
        <p>
          {visible(fault.where)}: {visible(fault.message)}
        </p>
        <p>{ACCESS_TEXTS.verifyFaultHelp}</p>
      </div>
    );
  }
  return (
    <div role="status">
      <strong>{ACCESS_TEXTS.verifySound(countText(records), countText(chains), countText(anchors))}</strong>
      <p>{isWhole ? ACCESS_TEXTS.verifyWhole : ACCESS_TEXTS.verifyPart(countText(RECORDS_MAX))}</p>
      <p>{of.hasKey ? ACCESS_TEXTS.verifyKey : ACCESS_TEXTS.verifyNoKey}</p>
      <p>{of.kept > 0 ? ACCESS_TEXTS.verifyKept(countText(of.kept)) : ACCESS_TEXTS.verifyNoneKept}</p>
    </div>
  );
}
