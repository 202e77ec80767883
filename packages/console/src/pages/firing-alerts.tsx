import type { SeriesBody } from "@mainspring/contract";
import { Name, Time } from "../parts/text.tsx";
import { linkTo } from "../state/route.ts";
import { TEXTS } from "../texts.ts";

type Alert = SeriesBody["alerts"][number];

const SHOWN_MAX = 50;

/** Pages that show what an alert is about, by the beginnings of the names of alerts. */
const PLACES: readonly [RegExp, string][] = [
  [/^MainspringDeadLetters/, "dead-letters"],
  [/^Mainspring(JobsOverdue|InstantsMissed|Missed|Misfires)/, "jobs"],
  [/^Mainspring(Late|BacklogOld)/, "executions"],
  [/^Mainspring(NobodyRunsIt|Workers|StuckSlots|StaleResults|LogLines|Retrying)/, "workers"],
];

/** Alerts that would fire, each with a way on. */
export function FiringAlerts({ alerts }: { alerts: readonly Alert[] }) {
  return (
    <section>
      <h2>{TEXTS.alerts}</h2>
      {alerts.length === 0 && <p class="dim">{TEXTS.alertsNone}</p>}
      {alerts.length > 0 && (
        <ul class="alerts">
          {alerts.slice(0, SHOWN_MAX).map((alert) => (
            <li key={`${alert.name} ${alert.poolOwner} ${alert.pool} ${alert.node} ${alert.summary}`}>
              <OneAlert alert={alert} />
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function OneAlert({ alert }: { alert: Alert }) {
  const { name, severity, since, summary, pool, node, runbook } = alert;
  const [, page = "cluster"] = PLACES.find(([pattern]) => pattern.test(name)) ?? [];
  const query = pool !== null && (page === "executions" || page === "dead-letters") ? { pool } : {};
  return (
    <>
      <span class={`state state-${severity.toLowerCase()}`}>{TEXTS.severities[severity]}</span>{" "}
      <a href={linkTo([page], query)}>
        <Name of={summary} />
      </a>{" "}
      {node !== null && (
        <>
          {TEXTS.atNode} <Name of={node} />{" "}
        </>
      )}
      <span class="dim">
        {TEXTS.alertSince} <Time at={since} />. {TEXTS.runbook} <code>{runbook}</code>
      </span>
    </>
  );
}
