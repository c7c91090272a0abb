// Command clients tests the clients that oapi-codegen generates. Its arguments are
// the write URL, the read URL, and a container id that nothing else uses.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"clients/read"
	"clients/write"
)

func main() {
	id, err := strconv.ParseInt(os.Args[3], 10, 64)
	if err == nil {
		err = run(context.Background(), os.Args[1], os.Args[2], id)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, writeURL, readURL string, id int64) error {
	writer, err := write.NewClientWithResponses(writeURL)
	if err != nil {
		return err
	}
	reader, err := read.NewClientWithResponses(readURL)
	if err != nil {
		return err
	}
	var create write.CreateContainer
	create.Args.ContainerId, create.Args.Kind = &id, write.Standard
	var operation write.Operation
	if err := operation.FromCreateContainer(create); err != nil {
		return err
	}
	body := write.Transaction{Operations: []write.Operation{operation}}
	committed, err := writer.CommitWithResponse(ctx, nil, body)
	if err != nil {
		return err
	}
	if committed.JSON200 == nil {
		return fmt.Errorf("%s: %s", committed.Status(), committed.Body)
	}
	var container read.IdOrName
	if err := container.FromId(id); err != nil {
		return err
	}
	shown, err := reader.ReadContainerWithResponse(ctx, container, &read.ReadContainerParams{MinSeq: &committed.JSON200.GlobalSeq})
	if err != nil {
		return err
	}
	if shown.JSON200 == nil || shown.JSON200.Data.ContainerId != id {
		return fmt.Errorf("%s: %s", shown.Status(), shown.Body)
	}
	refused, err := writer.CommitWithResponse(ctx, nil, body)
	if err != nil {
		return err
	}
	if refused.JSON409 == nil || refused.JSON409.Error.Code != "ContainerAlreadyExists" {
		return fmt.Errorf("creating the container again: %s: %s, want 409 ContainerAlreadyExists", refused.Status(), refused.Body)
	}
	return nil
}
