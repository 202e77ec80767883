import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { Validator } from "@seriousme/openapi-schema-validator";
import { startTestApi, type TestApi } from "../api.fixture.ts";
import { nameSchemas } from "./named-schemas.ts";

type Node = Record<string, unknown>;

/** A schema of the document, and its place. */
interface Place {
  path: string;
  schema: Node;
}

describe("the named schemas of the document of the API", () => {
  let api: TestApi;
  let document: { paths: Node; components: { schemas: Record<string, Node> } };
  before(async () => {
    api = await startTestApi();
    document = JSON.parse(JSON.stringify(api.app.swagger()));
  });
  after(() => api.stop());

  const anonymous = () => {
    const inside = Object.entries(document.components.schemas).flatMap(([name, schema]) =>
      placesIn(schema, name).filter(({ path }) => path !== name),
    );
    return [...placesIn(document.paths), ...inside];
  };

  it("leave a valid OpenAPI document", async () => {
    const checked = await new Validator().validate(structuredClone(document));
    assert.deepEqual(checked.errors ?? [], []);
    assert.equal(checked.valid, true);
  });

  it("cover every object that has fields", () => {
    const nameless = anonymous().filter(({ schema }) => Object.keys(schema["properties"] ?? {}).length > 0);
    assert.deepEqual(
      nameless.map(({ path, schema }) => `${path}: ${Object.keys(schema["properties"] as Node).join(", ")}`),
      [],
      "give it a name: named(…) of the contract, or a title",
    );
  });

  it("have no copy without a name, also among lists of values and unions", () => {
    const named = Object.entries(document.components.schemas).map(([name, schema]) => ({ name, schema: bare(schema) }));
    const copies = anonymous().flatMap(({ path, schema }) =>
      named.filter((known) => isDeepStrictEqual(known.schema, bare(schema))).map(({ name }) => `${path} is ${name}`),
    );
    assert.deepEqual(copies, []);
  });

  it("have the names of the resources and of what is sent to change them", () => {
    const names = Object.keys(document.components.schemas);
    const resources = ["Job", "Execution", "Attempt", "Pool", "Worker", "Node", "DeadLetter", "Stats", "Problem"];
    const requests = ["JobSubmission", "BatchSubmission", "PoolSettings", "BackfillRequest", "SchedulePreviewRequest"];
    const values = ["ExecutionState", "JobState", "WaitReason", "PoolAtLimitReason"];
    for (const name of [...resources, ...requests, ...values]) assert.ok(names.includes(name), name);
  });
});

describe("naming the schemas of a document", () => {
  const state = { title: "State", type: "string", enum: ["ON", "OFF"] };
  const lamp = (description: string) => ({
    title: "Lamp",
    type: "object",
    properties: { title: { type: "string" }, state: { ...state, description } },
  });

  it("keeps a description that belongs to one place, and takes the declared one for the name", () => {
    const declared = { State: { ...state, description: "Of a switch" } };
    const components = { schemas: {} };
    const named = nameSchemas({ paths: { "/lamp": lamp("Of the lamp") }, components }, declared);
    assert.deepEqual(named.paths, { "/lamp": { $ref: "#/components/schemas/Lamp" } });
    assert.deepEqual(named.components.schemas, {
      Lamp: {
        type: "object",
        properties: {
          title: { type: "string" },
          state: { $ref: "#/components/schemas/State", description: "Of the lamp" },
        },
      },
      State: { type: "string", enum: ["ON", "OFF"], description: "Of a switch" },
    });
  });

  it("does not take the title of an example for a name", () => {
    const paths = { "/lamp": { schema: { examples: [{ title: "Lamp" }] } } };
    assert.deepEqual(nameSchemas({ paths }, {}).paths, paths);
  });

  it("refuses two different schemas with one name", () => {
    const other = { ...lamp("Of the lamp"), required: ["state"] };
    assert.throws(
      () => nameSchemas({ paths: { "/lamp": lamp("Of the lamp"), "/lamps": other } }, {}),
      /two schemas of the API are named Lamp/,
    );
  });
});

/** Every node that can be a schema, without references. */
function placesIn(value: unknown, path = ""): Place[] {
  if (typeof value !== "object" || value === null) return [];
  const below = Object.entries(value).flatMap(([key, part]) => placesIn(part, `${path}/${key}`));
  return Object.hasOwn(value, "$ref") ? below : [{ path, schema: value as Node }, ...below];
}

/** The part of a schema that decides which values it accepts. */
function bare(schema: Node): Node {
  return Object.fromEntries(Object.entries(schema).filter(([key]) => key !== "description"));
}
