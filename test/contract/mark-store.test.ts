import { implementations } from "./stores-under-test.js";
import { markStoreContract } from "./mark-store.contract.js";

for (const [name, start] of implementations) markStoreContract(name, start);
