// A small Kafka of one process for tests: kfake -port N -dir FOLDER. It prints its address once it serves.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kversion"
)

func main() {
	port := flag.Int("port", 0, "port on 127.0.0.1")
	dir := flag.String("dir", "", "folder to keep data in; none: memory")
	flag.Parse()
	opts := []kfake.Opt{kfake.NumBrokers(1), kfake.MaxVersions(kversion.V3_6_0())}
	if *port > 0 {
		opts = append(opts, kfake.Ports(*port))
	}
	if *dir != "" {
		opts = append(opts, kfake.DataDir(*dir), kfake.SyncWrites())
	}
	c, err := kfake.NewCluster(opts...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(c.ListenAddrs()[0])
	ch := make(chan os.Signal, 1)
	signal.Notify(ch, syscall.SIGTERM, syscall.SIGINT)
	<-ch
	c.Close()
}
