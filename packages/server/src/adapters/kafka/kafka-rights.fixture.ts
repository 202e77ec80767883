import {
  type AclOperationLabel,
  AclOperations,
  AclPermissionTypes,
  type Admin,
  ResourcePatternTypes,
  ResourceTypes,
} from "@platformatic/kafka";

/** Gives a user rights on all topics whose names begin with the prefix. */
export async function allowTopics(
  admin: Admin,
  { user, prefix }: { user: string; prefix: string },
  ...operations: AclOperationLabel[]
): Promise<void> {
  const topics = {
    ...{ resourceType: ResourceTypes.TOPIC, resourceName: prefix, resourcePatternType: ResourcePatternTypes.PREFIXED },
    ...{ principal: `User:${user}`, host: "*", permissionType: AclPermissionTypes.ALLOW },
  };
  await admin.createAcls({
    creations: operations.map((operation) => ({ ...topics, operation: AclOperations[operation] })),
  });
}
