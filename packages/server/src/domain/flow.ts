/** A flow of work: the executions, or the recurring jobs, of one tenant in one pool. The intake of due work takes turns between flows. */
export interface Flow {
  tenant: string;
  pool: string;
}

/** Name of a flow. Two flows have the same name exactly if they are equal: neither part contains the character between them. */
export function flowName({ tenant, pool }: Flow): string {
  return `${tenant}\n${pool}`;
}
