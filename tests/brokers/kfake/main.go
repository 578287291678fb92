// A small Kafka of one process for tests: kfake -port N -dir FOLDER. It prints its address once it serves.
//
// With -user and the variable KFAKE_PASSWORD clients sign in, by SASL PLAIN or SCRAM; with -tls FOLDER they come by TLS, and with
// -clients they show a certificate of that folder's authority.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kversion"
)

func main() {
	port := flag.Int("port", 0, "port on 127.0.0.1")
	dir := flag.String("dir", "", "folder to keep data in; none: memory")
	user := flag.String("user", "", "who may sign in; none: everybody, without SASL")
	secured := flag.String("tls", "", "folder with server.crt, server.key and ca.crt; none: no TLS")
	cluster := flag.String("cluster", "kfake", "id of the cluster")
	clients := flag.Bool("clients", false, "clients need a certificate")
	flag.Parse()
	opts := []kfake.Opt{kfake.NumBrokers(1), kfake.MaxVersions(kversion.V3_6_0()), kfake.ClusterID(*cluster)}
	if *port > 0 {
		opts = append(opts, kfake.Ports(*port))
	}
	if *dir != "" {
		opts = append(opts, kfake.DataDir(*dir), kfake.SyncWrites())
	}
	if *user != "" {
		opts = append(opts, kfake.EnableSASL())
		for _, mechanism := range []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"} {
			opts = append(opts, kfake.Superuser(mechanism, *user, os.Getenv("KFAKE_PASSWORD")))
		}
	}
	if *secured != "" {
		config, err := settings(*secured, *clients)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		opts = append(opts, kfake.TLS(config))
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

func settings(folder string, clients bool) (*tls.Config, error) {
	own, err := tls.LoadX509KeyPair(filepath.Join(folder, "server.crt"), filepath.Join(folder, "server.key"))
	if err != nil {
		return nil, err
	}
	config := &tls.Config{Certificates: []tls.Certificate{own}}
	if clients {
		authority, err := os.ReadFile(filepath.Join(folder, "ca.crt"))
		if err != nil {
			return nil, err
		}
		config.ClientCAs = x509.NewCertPool()
		config.ClientCAs.AppendCertsFromPEM(authority)
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return config, nil
}
