import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Principal } from "../../ports/authenticator.ts";
import type { Runtime } from "../../ports/runtime.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** Whether callers with the same rights may share an answer, if they say how old it may be. */
    isShared?: boolean;
  }
  interface FastifyRequest {
    /** Answer that others wait for; null: nobody can. */
    sharing: Sharing | null;
  }
}

/** Largest age of an answer, in seconds. */
const AGE_MAX_SEC = 10;
const ANSWERS_MAX = 200;
/** Largest total length of the kept answers, in UTF-16 code units. */
const LENGTH_MAX = 8 * 1024 * 1024;

/** An answer that is being made or kept. */
interface Sharing {
  key: string;
  /** Start of the read, in milliseconds of the monotonic clock. */
  beganMs: number;
  /** null: it is being made. */
  kept: Kept | null;
  /** Called once the answer is kept, or will not be. */
  waiting: (() => void)[];
}

interface Kept {
  text: string;
  contentType: string;
}

/**
 * Answers a read of a shared route by the answer of an earlier read with the same address, tenant and rights, if the request names the age
 * that its client accepts: `Cache-Control: max-age=2`. Many open consoles then cost the store as much as one. Other requests are always read
 * anew. The hooks must be added after those that admit and record requests, which judge each request by itself.
 */
export function shareAnswers(app: FastifyInstance, runtime: Pick<Runtime, "monotonicMs">): void {
  const answers = new SharedAnswers();
  app.decorateRequest("sharing", null);
  app.addHook("preHandler", (request, reply, done) => {
    const maxAgeMs = maxAgeMsOf(request);
    if (maxAgeMs === null || request.principal === null) return done();
    const key = keyOf(request, request.principal);
    const nowMs = runtime.monotonicMs();
    const found = answers.find(key, nowMs - maxAgeMs);
    if (found === undefined) {
      request.sharing = answers.begin(key, nowMs);
      reply.raw.once("close", () => answers.abandon(request.sharing as Sharing));
      return done();
    }
    const give = () => {
      if (reply.sent || reply.raw.destroyed) return;
      if (found.kept === null) return done();
      const ageSec = Math.floor((runtime.monotonicMs() - found.beganMs) / 1_000);
      void reply.header("age", ageSec).header("content-type", found.kept.contentType).send(found.kept.text);
    };
    if (found.kept === null) found.waiting.push(give);
    else give();
  });
  app.addHook("onSend", (request, reply, payload, done) => {
    const { sharing } = request;
    if (sharing !== null) {
      const isKept = reply.statusCode === 200 && typeof payload === "string";
      if (isKept) answers.keep(sharing, { text: payload, contentType: String(reply.getHeader("content-type")) });
      else answers.abandon(sharing);
    }
    done();
  });
}

/** Age that the client of a shared read accepts, in milliseconds; null: it wants a new answer. */
function maxAgeMsOf({ method, headers, routeOptions }: FastifyRequest): number | null {
  if (method !== "GET" || routeOptions.config.isShared !== true) return null;
  const [, seconds] = /^max-age=(\d{1,9})$/.exec(headers["cache-control"] ?? "") ?? [];
  return seconds === undefined || seconds === "0" ? null : 1_000 * Math.min(Number(seconds), AGE_MAX_SEC);
}

/** Everything that an answer may depend on besides the time. */
function keyOf({ url }: FastifyRequest, { kind, tenant, scopes, pools }: Principal): string {
  return JSON.stringify([url, kind, tenant, [...scopes].sort(), pools]);
}

/** Answers of the last seconds, the oldest first. */
class SharedAnswers {
  readonly #answers = new Map<string, Sharing>();
  #length = 0;

  /** @param sinceMs oldest start of its read */
  find(key: string, sinceMs: number): Sharing | undefined {
    const found = this.#answers.get(key);
    return found !== undefined && found.beganMs > sinceMs ? found : undefined;
  }

  begin(key: string, beganMs: number): Sharing {
    this.#remove(key);
    const made: Sharing = { key, beganMs, kept: null, waiting: [] };
    this.#answers.set(key, made);
    this.#forget(beganMs - AGE_MAX_SEC * 1_000);
    return made;
  }

  /** Keeps the answer, and gives it to those who wait. */
  keep(sharing: Sharing, kept: Kept): void {
    sharing.kept = kept;
    if (this.#answers.get(sharing.key) === sharing) this.#length += kept.text.length;
    this.#forget(sharing.beganMs - AGE_MAX_SEC * 1_000);
    tell(sharing);
  }

  /** Lets those who wait read by themselves, unless the answer is kept. */
  abandon(sharing: Sharing): void {
    if (sharing.kept !== null) return;
    if (this.#answers.get(sharing.key) === sharing) this.#answers.delete(sharing.key);
    tell(sharing);
  }

  #forget(beforeMs: number): void {
    for (const [key, { beganMs }] of this.#answers) {
      if (beganMs >= beforeMs && this.#answers.size <= ANSWERS_MAX && this.#length <= LENGTH_MAX) return;
      this.#remove(key);
    }
  }

  #remove(key: string): void {
    this.#length -= this.#answers.get(key)?.kept?.text.length ?? 0;
    this.#answers.delete(key);
  }
}

function tell({ waiting }: Sharing): void {
  for (const give of waiting.splice(0)) give();
}
