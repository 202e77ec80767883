export interface Group<T> {
  name: string;
  first: T;
  members: T[];
}

/** Groups of members with one name, the largest first. */
export function groupedBy<T>(members: readonly T[], nameOf: (member: T) => string): Group<T>[] {
  const groups = new Map<string, Group<T>>();
  for (const member of members) {
    const name = nameOf(member);
    const group = groups.get(name);
    if (group === undefined) groups.set(name, { name, first: member, members: [member] });
    else group.members.push(member);
  }
  return [...groups.values()].sort((a, b) => b.members.length - a.members.length);
}
