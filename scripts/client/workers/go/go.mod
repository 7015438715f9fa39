module steward.example/worker

go 1.19
