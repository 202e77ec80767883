import type { CloudEventBody } from "@mainspring/contract";
import { EVENT_SOURCE, eventId, eventSubject, type LifecycleEvent } from "../../domain/lifecycle-event.ts";
import { shownPool } from "../../domain/pool.ts";
import { workerShownTo } from "../../security/tenant.ts";
import { formatInstant, formatInstantOrNull } from "../http/instants.ts";

/** An event in the JSON format of CloudEvents 1.0, as operators see it. */
export function cloudEvent(event: LifecycleEvent): CloudEventBody {
  const { kind, at, node, scheduledAt, createdAt, startedAt, finishedAt, traceparent, ...rest } = event;
  return {
    specversion: "1.0",
    id: eventId(event),
    source: EVENT_SOURCE,
    type: kind,
    subject: eventSubject(event),
    time: formatInstant(at),
    datacontenttype: "application/json",
    ...(traceparent !== null && { traceparent }),
    data: {
      executionId: rest.executionId,
      jobId: rest.jobId,
      workflowId: rest.workflowId,
      nodeNumber: node,
      item: rest.item,
      tenant: rest.tenant,
      pool: shownPool(rest.pool),
      handler: rest.handler,
      trigger: rest.trigger,
      attempt: rest.attempt,
      workerId: rest.workerId,
      state: rest.state,
      reason: rest.reason,
      scheduledAt: formatInstantOrNull(scheduledAt),
      createdAt: formatInstantOrNull(createdAt),
      startedAt: formatInstantOrNull(startedAt),
      finishedAt: formatInstantOrNull(finishedAt),
      failures: rest.failures,
      lost: rest.lost,
      errorName: rest.errorName,
      step: rest.step,
      session: rest.session,
      jobVersion: rest.jobVersion,
    },
  };
}

/** An event as its tenant sees it: workers of shared pools are the operators'. */
export function shownEvent(event: LifecycleEvent): CloudEventBody {
  const { tenant, pool, workerId } = event;
  return cloudEvent(workerId === null ? event : { ...event, workerId: workerShownTo(tenant, workerId, pool) });
}

/** The lines of a server-sent event, without its id and the empty line at its end. */
export function eventLines(event: LifecycleEvent): string {
  return `event: ${event.kind}\ndata: ${JSON.stringify(shownEvent(event))}\n`;
}
