/**
 * The part of the protocol of OpenTelemetry (OTLP) that servers speak. The SDK does not need it, so it is apart from the
 * protocols of workers and nodes.
 */
export * from "./gen/mainspring/otlp/v1/otlp_pb.js";
