/**
 * The named members of one of gitbeaker's types, which also admit any other member and so would not catch a misspelt
 * name. `Except` drops members whose type there differs from GitLab's.
 */
export type Members<Schema, Except extends string = never> = {
  [
    Key in keyof Schema as string extends Key ? never : number extends Key ? never : Key extends Except ? never : Key
  ]: Schema[Key];
};
