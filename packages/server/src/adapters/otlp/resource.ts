import { create } from "@bufbuild/protobuf";
import { InstrumentationScopeSchema, type Resource, ResourceSchema } from "@mainspring/proto/otlp";
import { attributesOf } from "./attributes.ts";

/** Name of the part of a program that makes the spans and metrics. */
export const SCOPE = create(InstrumentationScopeSchema, { name: "mainspring" });

/**
 * Description of the program that spans and metrics are of.
 * @param instance id of one server; null: all servers together
 */
export function resourceOf(version: string, instance: string | null): Resource {
  return create(ResourceSchema, {
    attributes: attributesOf({
      "service.name": "mainspring",
      "service.version": version,
      "service.instance.id": instance,
    }),
  });
}
