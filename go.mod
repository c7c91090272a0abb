module assetledger

go 1.26
