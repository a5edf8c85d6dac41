import { lockStoreContract } from "./lock-store.contract.js";
import { implementations } from "./stores-under-test.js";

for (const [name, start] of implementations) lockStoreContract(name, start);
