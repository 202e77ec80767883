import { testConformance } from "./testing/conformance.ts";
import { startTestServer } from "./testing/databases.ts";

testConformance("the embedded PostgreSQL", startTestServer);
