// Import rules between rooms. The layout these rules hold is told in ARCHITECTURE.md.

const server = "^packages/server/src";
const rooms = `${server}/(api|gateway|relay|scheduler|ops)/`;
/** Tests, and what stands ready for them. */
const test = ["[.](test|fixture)[.]ts$", "/(test|testing)/"];
/** Files of the contract without schemas, and so without TypeBox. */
const plainContract = "^packages/contract/src/(audit-log|enums|limits)[.]ts$";
/** Checks for every implementation of a port: written beside the port, run by the tests of the adapters. */
const conformance = "[.]conformance[.]ts$";

/** @type {import("dependency-cruiser").IConfiguration} */
export default {
  forbidden: [
    {
      name: "no-cycles",
      comment: "Two files that need each other are one file, or want a third. Types, which are gone at run time, may.",
      severity: "error",
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ["type-only"] } },
    },
    {
      name: "resolvable",
      comment: "An import that leads nowhere.",
      severity: "error",
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: "domain-is-pure",
      comment: "The domain imports itself, the plain values of the contract, and croner, a parser without I/O.",
      severity: "error",
      from: { path: `${server}/domain/`, pathNot: test },
      to: { pathNot: [`${server}/domain/`, plainContract, "^node_modules/croner/"] },
    },
    {
      name: "engine-is-pure",
      comment: "The engine imports itself and the domain.",
      severity: "error",
      from: { path: `${server}/engine/`, pathNot: test },
      to: { pathNot: `${server}/(domain|engine|ports)/` },
    },
    {
      name: "engine-knows-ports-by-type",
      comment: "The engine may know the shapes of messages and changes, nothing that runs.",
      severity: "error",
      from: { path: `${server}/engine/`, pathNot: test },
      to: { path: `${server}/ports/`, dependencyTypesNot: ["type-only"] },
    },
    {
      name: "ports-know-the-domain",
      comment:
        "A port is told in the words of the domain. Digests of node:crypto and the compression of node:zlib have no state and no I/O.",
      severity: "error",
      from: { path: `${server}/ports/`, pathNot: [...test, conformance] },
      to: { pathNot: [`${server}/(domain|ports)/`, "^(node:)?(crypto|zlib)$"] },
    },
    {
      name: "security-knows-ports",
      comment: "The security module judges callers for api and gateway, and knows neither.",
      severity: "error",
      from: { path: `${server}/security/`, pathNot: test },
      to: { path: `${server}/`, pathNot: `${server}/(domain|ports|security)/` },
    },
    {
      name: "rooms-are-apart",
      comment: "api, gateway, relay, scheduler and ops meet in ports, domain and engine only.",
      severity: "error",
      from: { path: rooms },
      to: { path: rooms, pathNot: `${server}/$1/` },
    },
    {
      name: "adapters-are-strangers",
      comment: "An adapter imports ports and domain, never another adapter or a room.",
      severity: "error",
      from: { path: `${server}/adapters/([^/]+)/`, pathNot: [`${server}/adapters/kafka-bus/`, ...test] },
      to: { path: `${server}/(adapters|api|gateway|relay|scheduler|ops|engine)/`, pathNot: `${server}/adapters/$1/` },
    },
    {
      name: "bus-on-kafka-is-around-the-mesh",
      comment: "The bus on Kafka is made of two adapters: the mesh, and the client of Kafka.",
      severity: "error",
      from: { path: `${server}/adapters/kafka-bus/`, pathNot: test },
      to: {
        path: `${server}/(adapters|api|gateway|relay|scheduler|ops|engine)/`,
        pathNot: `${server}/adapters/(kafka-bus|kafka|mesh)/`,
      },
    },
    {
      name: "registry-is-no-evidence",
      comment:
        "The index beside the store may be old or empty: no rule of the scheduler or the engine reads its registry.",
      severity: "error",
      from: { path: `${server}/(engine|scheduler)/`, pathNot: test },
      to: { path: `${server}/ports/side-index[.]ts$` },
    },
    {
      name: "node-composes",
      comment:
        "Only node.ts, buses.ts, ingest.ts, node-figures.ts, node-load.ts, node-security.ts, node-store.ts, redis.ts, sinks.ts, tls.ts, move-store.ts, migrate-store.ts, key-in-store.ts, the doors, and tests know adapters.",
      severity: "error",
      from: {
        path: server,
        pathNot: [
          `${server}/adapters/`,
          `${server}/(buses|index|ingest|key-in-store|migrate-store|move-store|node|node-figures|node-load|node-security|node-store|parts|redis|sinks|testing|tls)[.]ts$`,
          ...test,
        ],
      },
      to: { path: `${server}/adapters/` },
    },
    {
      name: "server-has-three-doors",
      comment: "Other packages enter the server through its index, its parts or its testing door.",
      severity: "error",
      from: { path: "^(packages/(?!server/)|tools/)" },
      to: { path: `${server}/`, pathNot: `${server}/(index|parts|testing)[.]ts$` },
    },
    {
      name: "sdk-knows-no-server",
      comment: "What users import carries no server.",
      severity: "error",
      from: { path: "^packages/sdk/" },
      to: { path: "^packages/(server|cli|bench|crash)/" },
    },
    {
      name: "sdk-simulates-in-tests-only",
      comment:
        "The simulation carries a server: one door of the SDK leads to it, and nothing else of the SDK to that door.",
      severity: "error",
      from: { path: "^packages/sdk/", pathNot: ["^packages/sdk/src/testing[.]ts$", "[.]test[.]ts$"] },
      to: { path: "^packages/((sim|testkit)/|sdk/src/testing[.]ts$)" },
    },
    {
      name: "testkit-enters-by-parts",
      comment: "The published server has no testing door, so the published test kit cannot use it.",
      severity: "error",
      from: { path: "^packages/testkit/", pathNot: test },
      to: { path: `${server}/testing[.]ts$` },
    },
    {
      name: "proto-knows-nobody",
      comment: "The protocol stands below all others.",
      severity: "error",
      from: { path: "^packages/proto/" },
      to: { path: "^packages/(?!proto/)" },
    },
    {
      name: "contract-knows-nobody",
      comment: "The contract stands below the server and its clients, and needs TypeBox alone.",
      severity: "error",
      from: { path: "^packages/contract/src/", pathNot: test },
      to: { pathNot: ["^packages/contract/", "^node_modules/typebox/"] },
    },
    {
      name: "contract-values-are-plain",
      comment:
        "The domain, the console and the SDK's tests read enums, limits and the format of the audit log without the schemas.",
      severity: "error",
      from: { path: plainContract },
      to: { pathNot: plainContract },
    },
    {
      name: "sdk-installs-no-contract",
      comment: "An installed SDK brings neither the contract nor TypeBox; its tests may read both.",
      severity: "error",
      from: { path: "^packages/sdk/", pathNot: test },
      to: { path: "^packages/contract/|^node_modules/typebox/" },
    },
    {
      name: "packages-enter-by-name",
      comment: "Across packages an import names the package, so that it works once installed too.",
      severity: "error",
      from: { path: "^packages/([^/]+)/" },
      to: { path: "^packages/", pathNot: "^packages/$1/", dependencyTypesNot: ["aliased-workspace"] },
    },
    {
      name: "no-tests-in-production",
      comment: "Tools are not production: they run what tests run.",
      severity: "error",
      from: { pathNot: [...test, conformance, `${server}/testing[.]ts$`, "^tools/"] },
      to: { path: [...test, conformance] },
    },
    {
      name: "no-dev-dependencies-in-production",
      comment: "What runs at a user's must be in `dependencies`.",
      severity: "error",
      from: {
        path: "^packages/(cli|contract|proto|sdk|server|testkit)/(src|bin)/",
        pathNot: [...test, conformance],
      },
      to: { dependencyTypes: ["npm-dev"], dependencyTypesNot: ["npm", "npm-optional", "type-only"] },
    },
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    exclude: { path: "(^|/)(dist|data|node_modules/[.]|server/console)" },
    tsPreCompilationDeps: true,
    combinedDependencies: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "node", "types"] },
  },
};
