/**
 * The protocol of OpenTelemetry (OTLP) as TypeScript, generated from the schemas of opentelemetry-proto 1.11.0. The SDK does
 * not need it, so it is apart from the protocols of workers and nodes.
 */
export * from "./gen/opentelemetry/proto/collector/metrics/v1/metrics_service_pb.js";
export * from "./gen/opentelemetry/proto/collector/trace/v1/trace_service_pb.js";
export * from "./gen/opentelemetry/proto/common/v1/common_pb.js";
export * from "./gen/opentelemetry/proto/metrics/v1/metrics_pb.js";
export * from "./gen/opentelemetry/proto/resource/v1/resource_pb.js";
export * from "./gen/opentelemetry/proto/trace/v1/trace_pb.js";
