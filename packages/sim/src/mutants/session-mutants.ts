import type { Mutant } from "./mutant.ts";

const SERVER = "packages/server/src";
const SEAL = `${SERVER}/security/session-seal.ts`;
const SEAL_TESTS = `${SERVER}/security/session-seal.test.ts`;

/** Mutants in the sessions of browsers. */
export const sessionMutants: readonly Mutant[] = [
  {
    name: "a session changes things without the header Origin",
    file: `${SERVER}/api/http/session-cookie.ts`,
    find: `if (method === "GET" || method === "HEAD" || headers.origin !== undefined) return null;`,
    replace: `if (method !== "DELETE" || headers.origin !== undefined) return null;`,
    why: "a page of another site can change things by a browser that sends its cookies everywhere",
    test: { file: `${SERVER}/api/keys/sessions.test.ts`, name: "change things only for pages of this server" },
  },
  {
    name: "a session does not end after its time",
    file: SEAL,
    find: "return Number(endsAt) > this.#runtime.now() ? credential : null;",
    replace: 'return endsAt !== "" ? credential : null;',
    why: "a stolen cookie is good for as long as its key",
    test: { file: SEAL_TESTS, name: "end after their time" },
  },
  {
    name: "a session of the former secret of the cluster is not opened",
    file: SEAL,
    find: "      if (text === null) continue;\n",
    replace: "      if (text === null) return null;\n",
    why: "a change of the secret logs every user out",
    test: {
      file: SEAL_TESTS,
      name: "open at every node of the cluster, also while its secret changes, and nowhere else",
    },
  },
];
