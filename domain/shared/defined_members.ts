/** The members that are not undefined: of a change, those that were sent. */
export const definedMembers = <T extends object>(given: T) =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as {
    [M in keyof T]?: Exclude<T[M], undefined>;
  };
