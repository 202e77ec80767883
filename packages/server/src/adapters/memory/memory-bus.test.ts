import { busConformance } from "../../ports/bus.conformance.ts";
import { memoryBus } from "./memory-bus.ts";

busConformance("memory", () => memoryBus("node-1"));
