// Tests a client built with openapi-typescript and openapi-fetch. Its arguments are
// the write URL, the read URL, and an id that no other client uses.
import createClient from "openapi-fetch";
import type { paths as WritePaths } from "./write";
import type { paths as ReadPaths } from "./read";

declare const process: { argv: string[]; exitCode: number };

async function main(writeUrl: string, readUrl: string, id: number): Promise<void> {
	const write = createClient<WritePaths>({ baseUrl: writeUrl });
	const read = createClient<ReadPaths>({ baseUrl: readUrl });

	const committed = await write.POST("/v1/commit", {
		body: {
			operations: [
				{ op: "RegisterClass", args: { request: { class_id: id, name: "Euro", fungible: true, decimals: 2 } } },
				{ op: "CreateContainer", args: { container_id: id, kind: "Standard" } },
				{ op: "AddFungible", args: { container_id: id, class_id: id, key: 0, quantity: 2550 } },
			],
			idempotency_key: `fetch-${id}`,
		},
	});
	const seq = committed.data?.global_seq ?? 0;
	const shown = await read.GET("/v1/read/container/{id}/balances", { params: { path: { id }, query: { min_seq: seq } } });
	const refused = await write.POST("/v1/commit", { body: { operations: [{ op: "RemoveContainer", args: { container_id: id } }] } });

	const got = [shown.data?.balances[0]?.quantity, refused.error?.error.code];
	if (seq < 1 || got[0] !== 2550 || got[1] !== "ContainerNotEmpty") {
		throw new Error(`commit ${seq}, balance and rejection ${JSON.stringify(got)}, want 2550 and ContainerNotEmpty`);
	}
}

main(process.argv[2]!, process.argv[3]!, Number(process.argv[4])).catch((e) => {
	console.error(e);
	process.exitCode = 1;
});
