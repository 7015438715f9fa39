import type { z } from "zod";

/** The members of `value` that the shape has, in its order: the part of a row that an answer shows. */
export const membersOf = <S extends z.ZodRawShape>(
  { shape }: z.ZodObject<S>,
  value: z.output<z.ZodObject<S>>,
): z.output<z.ZodObject<S>> =>
  Object.fromEntries(
    Object.keys(shape).map((name) => [name, value[name as keyof typeof value]]),
  ) as typeof value;
