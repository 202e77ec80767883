import { join } from "node:path";
import {
  createApi,
  createLog,
  fixedRules,
  memoryBus,
  SimMetrics,
  SimStore,
  StoreData,
  soloLeases,
  systemRuntime,
  usePackagedZones,
} from "../../packages/server/src/testing.ts";

/** JSON Schema, as far as the document of the API uses it. */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  description?: string;
  const?: unknown;
  enum?: unknown[];
  anyOf?: Schema[];
  allOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  patternProperties?: Record<string, Schema>;
  additionalProperties?: boolean | Schema;
  required?: string[];
  default?: unknown;
  format?: string;
  pattern?: string;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  maxProperties?: number;
}

type Content = Record<string, { schema?: Schema }>;

export interface Operation {
  operationId: string;
  /** Scope that the operation needs; `any`: a key; `public`: nothing. */
  "x-scope": string;
  summary: string;
  description?: string;
  tags?: string[];
  parameters?: { name: string; in: string; required?: boolean; description?: string; schema: Schema }[];
  requestBody?: { required?: boolean; content: Content };
  responses: Record<string, { description: string; content?: Content }>;
}

export interface ApiDocument {
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

/** File from which servers answer; a document of hundreds of routes takes too long to create at a start. */
export const API_DOCUMENT = join(import.meta.dirname, "../../packages/server/openapi.json");

export function textOf(document: ApiDocument): string {
  return `${JSON.stringify(document, null, 1)}\n`;
}

/** Reads the OpenAPI document from the API itself, which runs on a store in memory and without a socket. */
export async function readApiDocument(): Promise<ApiDocument> {
  const runtime = systemRuntime();
  const bus = memoryBus(runtime.uuid());
  const data = new StoreData({ now: () => runtime.now() });
  const latency = () => ({ effectAfterMs: 0, answerAfterMs: 0, givesUpAfterMs: 1_000 });
  const zones = fixedRules(usePackagedZones());
  const api = await createApi({
    ...{ bus, runtime, metrics: new SimMetrics(), leases: soloLeases(), log: createLog("silent") },
    store: new SimStore({ data, node: bus.node, time: runtime, latency }),
    clock: { look: async () => undefined },
    config: { apiKey: null },
    about: {
      ...{ version: "reference", zones },
      addresses: () => ({ http: null, grpc: null }),
      durability: { store: "EMBEDDED", disk: "ALWAYS", replicas: 0 } as const,
      storeConnections: () => [],
      readiness: async () => ({ status: "ready", checks: [] }),
    },
  });
  try {
    await api.ready();
    return JSON.parse(JSON.stringify(api.swagger()));
  } finally {
    await api.close();
  }
}
