/**
 * The named members of one of gitbeaker's types. Those types also admit any other member, which would let a wrong name
 * pass; `Except` leaves out members whose type there is not GitLab's.
 */
export type Members<Schema, Except extends string = never> = {
  [
    Key in keyof Schema as string extends Key ? never : number extends Key ? never : Key extends Except ? never : Key
  ]: Schema[Key];
};
