import {
  AuditAnchorBody,
  AuditAnchorsQuery,
  AuditQuery,
  AuditRecordBody,
  AuditRecordsQuery,
  pageOf,
} from "@mainspring/contract";
import { PAGE_ITEMS_DEFAULT } from "@mainspring/contract/limits";
import type { FastifyRequest } from "fastify";
import type { EpochMs } from "../../domain/ids.ts";
import type { AuditAnchor, AuditPosition, AuditRecord, StoreAudit } from "../../ports/store-audit.ts";
import { decodeCursor, encodeCursor, type ListKind } from "../http/cursor.ts";
import { answer, problems } from "../http/documented.ts";
import type { HttpApp } from "../http/http-app.ts";
import { formatInstant, parseInstant } from "../http/instants.ts";

const tags = ["audit"];

/** Routes GET /v1/audit, /v1/audit/records and /v1/audit/anchors */
export function auditRoutes(app: HttpApp, audit: StoreAudit): void {
  listRoute(app, audit);
  recordsRoute(app, audit);
  anchorsRoute(app, audit);
}

function listRoute(app: HttpApp, audit: StoreAudit): void {
  const schema = {
    operationId: "listAudit",
    tags,
    summary: "List records of the audit log, newest first: those of the tenant, and all of them for operators",
    querystring: AuditQuery,
    response: { 200: answer(pageOf("AuditPage", AuditRecordBody), "A page"), ...problems() },
  };
  app.get("/v1/audit", { schema, config: { scope: "tenant:admin" } }, async (request) => {
    const { cursor, limit = PAGE_ITEMS_DEFAULT, since, ...rest } = request.query;
    const isOperator = isOperatorsRequest(request);
    const tenant = isOperator ? null : (request.principal?.tenant ?? "");
    const filter = { tenant, ...rest, ...(since !== undefined && { since: timeOf(since) }) };
    const records = await audit.list(filter, positionOf("audit", cursor), limit);
    return pageBody("audit", isOperator ? records : records.map(withoutOperatorsAddress), limit);
  });
}

function recordsRoute(app: HttpApp, audit: StoreAudit): void {
  const schema = {
    operationId: "exportAudit",
    tags,
    summary: "Read the whole audit log, oldest record first, to verify it or to keep it elsewhere",
    querystring: AuditRecordsQuery,
    response: { 200: answer(pageOf("AuditRecordsPage", AuditRecordBody), "A page"), ...problems() },
  };
  app.get("/v1/audit/records", { schema, config: { scope: "system:admin" } }, async (request) => {
    const { cursor, limit = PAGE_ITEMS_DEFAULT, since } = request.query;
    const begin = since === undefined ? null : { at: timeOf(since) - 1, chain: LAST_CHAIN, seq: 0 };
    const records = await audit.read(positionOf("audit-records", cursor) ?? begin, limit);
    return pageBody("audit-records", records, limit);
  });
}

const LAST_CHAIN = "ffffffff-ffff-ffff-ffff-ffffffffffff";

function anchorsRoute(app: HttpApp, audit: StoreAudit): void {
  const schema = {
    operationId: "listAuditAnchors",
    tags,
    summary: "List the anchors of the audit log, oldest first: each seals the records before it",
    querystring: AuditAnchorsQuery,
    response: { 200: answer(pageOf("AuditAnchorPage", AuditAnchorBody), "A page"), ...problems() },
  };
  app.get("/v1/audit/anchors", { schema, config: { scope: "system:admin" } }, async (request) => {
    const { cursor, limit = PAGE_ITEMS_DEFAULT } = request.query;
    const anchors = await audit.anchors(Number(decodeCursor("audit-anchors", cursor) ?? 0), limit);
    const last = anchors.length < limit ? undefined : anchors.at(-1);
    const next = last === undefined ? null : String(last.number);
    return { items: anchors.map(anchorBody), nextCursor: encodeCursor("audit-anchors", next) };
  });
}

function isOperatorsRequest({ principal }: FastifyRequest): boolean {
  return principal?.scopes.has("system:admin") === true;
}

function pageBody(list: ListKind, records: readonly AuditRecord[], limit: number) {
  const last = records.length < limit ? undefined : records.at(-1);
  const next = last === undefined ? null : `${last.at} ${last.chain} ${last.seq}`;
  return { items: records.map(recordBody), nextCursor: encodeCursor(list, next) };
}

function positionOf(list: ListKind, cursor: string | undefined): AuditPosition | null {
  const text = decodeCursor(list, cursor);
  if (text === null) return null;
  const [at, chain = "", seq] = text.split(" ");
  return { at: Number(at), chain, seq: Number(seq) };
}

/** The schema has accepted the text. */
function timeOf(text: string): EpochMs {
  return parseInstant(text) as EpochMs;
}

function recordBody(record: AuditRecord): AuditRecordBody {
  return { ...record, at: formatInstant(record.at), detail: { ...record.detail } };
}

function anchorBody(anchor: AuditAnchor): AuditAnchorBody {
  return { ...anchor, at: formatInstant(anchor.at), heads: [...anchor.heads], floors: [...anchor.floors] };
}

function withoutOperatorsAddress(record: AuditRecord): AuditRecord {
  return record.actor.kind === "OPERATOR" ? { ...record, address: null } : record;
}
