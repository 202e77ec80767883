import { startTestServer } from "./testing/databases.ts";
import { testHotPlans } from "./testing/hot-plans.ts";

testHotPlans("the embedded PostgreSQL", startTestServer);
