// Tests a client built with @hey-api/openapi-ts, which generates a function for each
// operation. Its arguments are the write URL, the read URL, and an id that no other
// client uses.
import { commit } from "./write-sdk";
import { client as write } from "./write-sdk/client.gen";
import { readBalances } from "./read-sdk";
import { client as read } from "./read-sdk/client.gen";

declare const process: { argv: string[]; exitCode: number };

async function main(writeUrl: string, readUrl: string, id: number): Promise<void> {
	write.setConfig({ baseUrl: writeUrl });
	read.setConfig({ baseUrl: readUrl });

	const committed = await commit({
		body: {
			operations: [
				{ op: "RegisterClass", args: { request: { class_id: id, name: "Euro", fungible: true, decimals: 2 } } },
				{ op: "CreateContainer", args: { container_id: id, kind: "Standard" } },
				{ op: "AddFungible", args: { container_id: id, class_id: id, key: 0, quantity: 2550 } },
			],
			idempotency_key: `sdk-${id}`,
		},
	});
	const seq = committed.data?.global_seq ?? 0;
	const shown = await readBalances({ path: { id }, query: { min_seq: seq } });
	const refused = await commit({ body: { operations: [{ op: "RemoveContainer", args: { container_id: id } }] } });

	const got = [shown.data?.balances[0]?.quantity, refused.error?.error.code];
	if (seq < 1 || got[0] !== 2550 || got[1] !== "ContainerNotEmpty") {
		throw new Error(`commit ${seq}, balance and rejection ${JSON.stringify(got)}, want 2550 and ContainerNotEmpty`);
	}
}

main(process.argv[2]!, process.argv[3]!, Number(process.argv[4])).catch((e) => {
	console.error(e);
	process.exitCode = 1;
});
