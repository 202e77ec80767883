import type { JobBody } from "@mainspring/contract";
import { isJsonOrEmpty, jsonText } from "../../text/json-text.ts";

/** Fields of a job that have an input of their own, in the order of the form. */
export const DRAFT_FIELDS = ["schedule", "timezone", "everySec", "overlap", "misfire", "priority"] as const;
const NUMBERS: readonly string[] = ["everySec", "priority"];

/** Fields of an answer that are no part of the definition. */
const NOT_DEFINED = [
  ...["jobId", "tenant", "state", "version", "nextFireAt", "createdAt", "updatedAt"],
  ...["fires", "catchUps", "latestExecutions", "type"],
];

export type DraftField = (typeof DRAFT_FIELDS)[number] | "payload" | "settings";

/** The definition of a job as texts of a form. Fields that the job does not have are left out. */
export type Draft = Partial<Record<DraftField, string>> & Record<"payload" | "settings", string>;

/** The definition of a job as a form shows it: `settings` is the JSON of all that has no input of its own. */
export function draftOf(job: JobBody): Draft {
  const defined = definitionOf(job);
  const own = DRAFT_FIELDS.filter((field) => defined[field] !== undefined);
  const rest = Object.entries(defined).filter(([name]) => !own.some((field) => field === name));
  return {
    ...Object.fromEntries(own.map((field) => [field, String(defined[field])])),
    payload: job.payload === null ? "" : jsonText(job.payload),
    settings: JSON.stringify(Object.fromEntries(rest), null, 2),
  };
}

/** The definition of a job without its payload, as a request takes it. */
function definitionOf(job: JobBody): Record<string, unknown> {
  const { payload: _payload, ...fields } = job;
  // A limit belongs to a key, and null stands for what the job does not have.
  const isDefined = ([name, value]: [string, unknown]) =>
    value !== null && !NOT_DEFINED.includes(name) && (name !== "concurrencyLimit" || job.concurrencyKey !== null);
  return Object.fromEntries(Object.entries(fields).filter(isDefined));
}

/** Whether the payload of a draft is JSON, and its settings are an object. */
export function isGoodDraft({ payload, settings }: Draft): boolean {
  return isJsonOrEmpty(payload) && settingsIn(settings) !== null;
}

/** Settings of a draft; null: the text is not the JSON of an object. */
export function settingsIn(text: string): Record<string, unknown> | null {
  if (!isJsonOrEmpty(text)) return null;
  const value: unknown = text.trim() === "" ? {} : JSON.parse(text);
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : null;
}

/** Body of the request that gives a job the definition of a draft. Empty fields are left out. */
export function requestOf({ payload, settings, ...fields }: Draft): string {
  const given = Object.entries(fields).flatMap(([name, text]) => {
    const value = text.trim();
    if (value === "") return [];
    return [[name, NUMBERS.includes(name) ? Number(value) : value] as const];
  });
  const { payload: _payload, ...rest } = settingsIn(settings) ?? {};
  return withPayload({ ...rest, ...Object.fromEntries(given) }, payload);
}

/** JSON of a request whose payload is the text that the user sees, so that long numbers keep their digits. @param payload empty: none */
export function withPayload(fields: object, payload: string): string {
  const text = JSON.stringify(fields);
  return payload.trim() === "" ? text : `${text.slice(0, -1)},"payload":${payload}}`;
}

/** Fields that both the user and somebody else have changed. @param base job that the user began with */
export function changedByBoth(given: Partial<Draft>, base: Draft, present: Draft): DraftField[] {
  return (Object.keys(given) as DraftField[]).filter(
    (field) => given[field] !== base[field] && present[field] !== base[field] && given[field] !== present[field],
  );
}
