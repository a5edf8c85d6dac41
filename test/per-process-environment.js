import { TestEnvironment } from "jest-environment-node";

const kept = new Map();

/** Test files load every module anew; what takes long to make and never changes is handed from one to the next. */
export default class PerProcessEnvironment extends TestEnvironment {
  constructor(config, context) {
    super(config, context);
    this.global.keptPerProcess = kept;
  }
}
