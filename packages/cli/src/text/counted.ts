/** Text of a number with its noun: `1 execution`, `2 executions`. */
export function counted(count: number, noun: string): string {
  return `${count} ${count === 1 ? noun : `${noun}s`}`;
}
