import type { MeBody } from "@mainspring/contract";
import type { Scope } from "@mainspring/contract/enums";
import { signal } from "@preact/signals";
import { ask, RequestFailed, whenUnauthorized } from "../api/client.ts";

/** ASKING: the first answer is awaited. LOGIN: the server wants a key. FAILED: it did not answer as it should. */
export type Session =
  | { state: "ASKING" | "LOGIN" }
  | { state: "IN"; me: MeBody }
  | { state: "FAILED"; failure: RequestFailed };

export const session = signal<Session>({ state: "ASKING" });

/** Asks the server whether this browser is logged in, or needs to be. */
export async function lookIn(): Promise<void> {
  whenUnauthorized(() => {
    session.value = { state: "LOGIN" };
  });
  try {
    session.value = { state: "IN", me: await ask<MeBody>("me") };
  } catch (error) {
    if (!(error instanceof RequestFailed)) throw error;
    session.value = error.problem.status === 401 ? { state: "LOGIN" } : { state: "FAILED", failure: error };
  }
}

/** @throws {RequestFailed} */
export async function logIn(key: string): Promise<void> {
  session.value = { state: "IN", me: await ask<MeBody>("session", { method: "POST", body: { key } }) };
}

/** @throws {RequestFailed} */
export async function logOut(): Promise<void> {
  await ask("session", { method: "DELETE" });
  session.value = { state: "LOGIN" };
}

/** Whether the caller may use operations with a scope. */
export function may(scope: Scope): boolean {
  return session.value.state === "IN" && session.value.me.scopes.includes(scope);
}

/** Whether the server asks for no key. */
export function isOpen(): boolean {
  return session.value.state === "IN" && session.value.me.keyId === "loopback";
}
