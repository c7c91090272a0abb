package server

// Version of the build: set with -ldflags "-X assetledger/server.Version=…".
var Version = "dev"
