import type { Mutant } from "./mutant.ts";

const SERVER = "packages/server/src";
const AUTHENTICATOR = `${SERVER}/security/key-authenticator.ts`;
const AUTHENTICATOR_TEST = `${SERVER}/security/key-authenticator.test.ts`;
const NAMES = `${SERVER}/domain/cluster/certificate-names.ts`;
const NAMES_TEST = `${SERVER}/domain/cluster/certificate-names.test.ts`;
const POOLS_OF_TENANTS =
  "of a tenant is refused while a node does not know owned pools, as are keys of its workers, and keys that require certificates";
const WORKERS_TEST = {
  file: `${SERVER}/worker-certificates.test.ts`,
  name: "are refused without the right certificate, and learn which one they need",
};

/** Mutants in the judgement of callers, in the isolation of tenants' workers, in the certificates of workers, in the renewal of certificates, and in the key of a server. */
export const securityMutants: readonly Mutant[] = [
  {
    name: "any certificate of a worker will do",
    file: NAMES,
    find: "if (uris(shown.names).includes(needed)) return null;",
    replace: "if (uris(shown.names).length > 0) return null;",
    why: "a certificate of another worker, or of a node, admits a worker with a stolen key",
    test: { file: NAMES_TEST, name: "is wrong with every other name" },
  },
  {
    name: "the name of a worker's certificate is found within another one",
    file: NAMES,
    find: "if (uris(shown.names).includes(needed)) return null;",
    replace: "if (shown.names?.includes(needed) === true) return null;",
    why: "a certificate with a made-up name of another kind passes for that of the key",
    test: { file: NAMES_TEST, name: "is wrong with every other name" },
  },
  {
    name: "a certificate that no authority vouches for counts",
    file: `${SERVER}/gateway/connections/grpc-server.ts`,
    find: '  if (!socket.authorized) return { kind: "UNTRUSTED", code: String(socket.authorizationError) };\n',
    replace: "",
    why: "anybody makes the certificate of a key for themselves, and an expired one is good for ever",
    test: WORKERS_TEST,
  },
  {
    name: "a connection without TLS needs no certificate",
    file: `${SERVER}/gateway/connections/grpc-server.ts`,
    find: "  if (certificateId === null) return null;\n",
    replace: "  if (certificateId === null || !(socket instanceof TLSSocket)) return null;\n",
    why: "a worker with a stolen key comes through the proxy",
    test: {
      file: `${SERVER}/gateway/connections/grpc-server.test.ts`,
      name: "takes no worker without TLS whose key requires a certificate, and logs that once",
    },
  },
  {
    name: "the successor of a key needs no certificate",
    file: `${SERVER}/security/new-key.ts`,
    find: "const rights = { tenant, kind, scopes, pools, certificateId, name, expiresAt };",
    replace: "const rights = { tenant, kind, scopes, pools, certificateId: certificateId && null, name, expiresAt };",
    why: "a rotation takes the requirement away from a key, and nobody notices",
    test: {
      file: `${SERVER}/worker-certificates.test.ts`,
      name: "run jobs with the certificate of their key, while it and the node's are renewed, and with the successor of the key",
    },
  },
  {
    name: "a key that requires a certificate is created beside a node that does not know of it",
    file: `${SERVER}/api/keys/key-routes.ts`,
    find: '    if (requireCert === true) requireFeature("WORKER_CERTIFICATES", lacking);\n',
    replace: "",
    why: "a gateway of the release before admits workers without their certificates",
    test: { file: `${SERVER}/api/pools/pool-changes.test.ts`, name: POOLS_OF_TENANTS },
  },
  {
    name: "headroom is set beside a node that does not know it",
    file: `${SERVER}/api/pools/pool-routes.ts`,
    find: '    if ((request.body.headroom ?? 0) > 0) requireFeature("POOL_HEADROOM", lacking);\n',
    replace: "",
    why: "an owner of the release before gives every slot away, and nobody learns why",
    test: {
      file: `${SERVER}/api/pools/pool-changes.test.ts`,
      name: "to a headroom is refused while a node would give every slot away, and other changes are not",
    },
  },
  {
    name: "a key that requires a certificate does not raise the level of the store",
    file: `${SERVER}/adapters/sql/cluster/keys.ts`,
    find: "  if (certificateId !== null) await session.run(RAISE_WORKER_CERTIFICATES);\n",
    replace: "",
    why: "a node of the release before opens the store, and admits workers without their certificates",
    test: {
      file: `${SERVER}/worker-certificates.test.ts`,
      name: "are listed with their keys, and the first such key keeps the release before from opening the store",
    },
  },
  {
    name: "nothing asks for changes of keys",
    file: `${SERVER}/security/key-ring.ts`,
    find: "      void this.refresh();\n",
    replace: "",
    why: "a revoked key stays good on a node that the message of the revocation does not reach",
    test: {
      file: AUTHENTICATOR_TEST,
      name: "refuses a revoked key at once where it hears of it, and within a second where no message comes",
    },
  },
  {
    name: "uses of a revoked key wait for the next answer of the store",
    file: `${SERVER}/security/key-ring.ts`,
    find: "      this.#tell();\n    } while (this.#isAskedAgain);\n",
    replace: "    } while (this.#isAskedAgain);\n    this.#tell();\n",
    why: "a node that knows of a revocation keeps streams with the key while the store is slow",
    test: {
      file: AUTHENTICATOR_TEST,
      name: "ends uses of a key that was revoked, although the next question gets no answer",
    },
  },
  {
    name: "uses of a revoked key go on",
    file: AUTHENTICATOR,
    find: "      use.end(refusal);\n",
    replace: "",
    why: "streams and connections of workers that are open outlive the revocation of their key",
    test: {
      file: AUTHENTICATOR_TEST,
      name: "refuses a revoked key at once where it hears of it, and within a second where no message comes",
    },
  },
  {
    name: "a worker of a revoked key stays",
    file: `${SERVER}/gateway/connections/grpc-server.ts`,
    find: '      connection.close(code === "UNAVAILABLE" ? code : "UNAUTHENTICATED", detail);\n',
    replace: "",
    why: "a worker with a revoked key keeps its connection",
    test: {
      file: `${SERVER}/gateway/connections/grpc-server.test.ts`,
      name: "ends the stream of a worker whose key is no longer good",
    },
  },
  {
    name: "keys expire by the clock of the node",
    file: AUTHENTICATOR,
    find: "expiresAt <= runtime.now()",
    replace: "expiresAt <= Date.now()",
    why: "a node whose clock is wrong takes expired keys, or refuses good ones",
    test: { file: AUTHENTICATOR_TEST, name: "lets a key expire by the store's clock, with its streams" },
  },
  {
    name: "an unknown key is wrong at once",
    file: AUTHENTICATOR,
    find: "keyKind(credential) === null || ",
    replace: "keyKind(credential) !== null || ",
    why: "a node refuses a key that another node has created, until it hears of it",
    test: {
      file: AUTHENTICATOR_TEST,
      name: "asks the store for a key that another node has just created, once for all that come with it",
    },
  },
  {
    name: "one answer of the store serves all later unknown keys",
    file: `${SERVER}/security/unknown-keys.ts`,
    find: "    this.#question = null;\n",
    replace: "",
    why: "a node finds the first new key, and no later one",
    test: { file: AUTHENTICATOR_TEST, name: "calls no key wrong while the store cannot be asked for it" },
  },
  {
    name: "wrong keys are looked up without a pause",
    file: `${SERVER}/security/unknown-keys.ts`,
    find: "    await this.#pause();\n",
    replace: "    await Promise.resolve();\n",
    why: "a flood of wrong keys asks the store without end",
    test: {
      file: AUTHENTICATOR_TEST,
      name: "asks the store about wrong keys at most ten times a second, and about one of them once",
    },
  },
  {
    name: "a hello of another key takes a worker over",
    file: `${SERVER}/gateway/sessions/fleet.ts`,
    find: "if (known !== undefined && !isSameCaller(known.principal, link.principal)) {",
    replace: "if (known === null) {",
    why: "who knows the secret of a worker goes on with its session by a key of another tenant",
    test: {
      file: `${SERVER}/gateway/connections/hello.test.ts`,
      name: "lets another key with the worker's secret not take the worker over, but the key that replaces its own",
    },
  },
  {
    name: "output of another tenant's worker is shown",
    file: `${SERVER}/gateway/output-relay.ts`,
    find: "if (item.tenant === undefined || item.tenant === tenant) this.#send(node, item);",
    replace: "this.#send(node, item);",
    why: "a worker of one tenant writes into the stream of an execution of another one",
    test: {
      file: `${SERVER}/gateway/output-relay.test.ts`,
      name: "of a worker that a tenant owns goes to followers of its executions alone, and displaces no other output",
    },
  },
  {
    name: "links keep the certificate that they began with",
    file: `${SERVER}/adapters/mesh/mesh-bus.ts`,
    find: "    this.#door.tls.onChange(() => void this.#renewLinks());\n",
    replace: "",
    why: "a node goes on with a certificate that was replaced because its key is known to others",
    test: {
      file: `${SERVER}/adapters/mesh/link-renewal.test.ts`,
      name: "are closed with a certificate of another cluster, and come back with a right one",
    },
  },
  {
    name: "messages of the renewal of a link are lost",
    file: `${SERVER}/adapters/mesh/peer.ts`,
    find: "    if (this.#isFinished && !this.#isClosed) {\n",
    replace: "    if (this.#isFinished && this.#isClosed) {\n",
    why: "each change of a certificate loses messages between nodes",
    test: {
      file: `${SERVER}/adapters/mesh/link-renewal.test.ts`,
      name: "are renewed one by one, lose no message, and show the new certificate",
    },
  },
  {
    name: "a server takes the key of a client for its own",
    file: `${SERVER}/ops/config.ts`,
    find: "(keyKind(text) !== null || TOKEN.test(text))",
    replace: "TOKEN.test(text)",
    why: "a program with a key for submits alone may do everything",
    test: {
      file: `${SERVER}/ops/config-secrets.test.ts`,
      name: "leaves the file of a client's key or token to clients, because it must not become the key that may do everything",
    },
  },
];
