import { auditMutants } from "./audit-mutants.ts";
import { bornAssignedMutants } from "./born-assigned-mutants.ts";
import { capacityMutants } from "./capacity-mutants.ts";
import { compensationMutants } from "./compensation-mutants.ts";
import { eventMutants } from "./event-mutants.ts";
import { eventStreamMutants } from "./event-stream-mutants.ts";
import { fairMutants } from "./fair-mutants.ts";
import { flowMutants } from "./flow-mutants.ts";
import { gatewayMutants } from "./gateway-mutants.ts";
import { idMutants } from "./id-mutants.ts";
import { indexMutants } from "./index-mutants.ts";
import { ingestMutants } from "./ingest-mutants.ts";
import { keyedNodeMutants } from "./keyed-node-mutants.ts";
import { machineMutants } from "./machine-mutants.ts";
import { mapMutants } from "./map-mutants.ts";
import type { Mutant } from "./mutant.ts";
import { permitMutants } from "./permit-mutants.ts";
import { planMutants } from "./plan-mutants.ts";
import { quotaMutants } from "./quota-mutants.ts";
import { relayMutants } from "./relay-mutants.ts";
import { requestMutants } from "./request-mutants.ts";
import { ruleMutants } from "./rule-mutants.ts";
import { schedulerMutants } from "./scheduler-mutants.ts";
import { securityMutants } from "./security-mutants.ts";
import { seriesMutants } from "./series-mutants.ts";
import { sessionMutants } from "./session-mutants.ts";
import { spawnMutants } from "./spawn-mutants.ts";
import { stepMutants } from "./step-mutants.ts";
import { storeMutants } from "./store-mutants.ts";
import { subWorkflowMutants } from "./sub-workflow-mutants.ts";
import { suspensionMutants } from "./suspension-mutants.ts";
import { webhookMutants } from "./webhook-mutants.ts";
import { workflowMutants } from "./workflow-mutants.ts";
import { workflowStartMutants } from "./workflow-start-mutants.ts";

export const allMutants: readonly Mutant[] = [
  ...storeMutants,
  ...machineMutants,
  ...schedulerMutants,
  ...gatewayMutants,
  ...permitMutants,
  ...planMutants,
  ...relayMutants,
  ...webhookMutants,
  ...requestMutants,
  ...indexMutants,
  ...auditMutants,
  ...securityMutants,
  ...ingestMutants,
  ...ruleMutants,
  ...fairMutants,
  ...quotaMutants,
  ...flowMutants,
  ...eventMutants,
  ...eventStreamMutants,
  ...idMutants,
  ...stepMutants,
  ...suspensionMutants,
  ...workflowMutants,
  ...workflowStartMutants,
  ...bornAssignedMutants,
  ...capacityMutants,
  ...compensationMutants,
  ...mapMutants,
  ...seriesMutants,
  ...sessionMutants,
  ...spawnMutants,
  ...keyedNodeMutants,
  ...subWorkflowMutants,
];

export function mutantNamed(name: string): Mutant {
  const mutant = allMutants.find((known) => known.name === name);
  if (mutant !== undefined) return mutant;
  throw new Error(`there is no mutant "${name}"; there are ${allMutants.map((known) => known.name).join(", ")}`);
}
