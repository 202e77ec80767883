import { busConformance } from "../../ports/conformance/bus.conformance.ts";
import { memoryBus } from "./memory-bus.ts";

busConformance("memory", () => memoryBus("node-1"));
