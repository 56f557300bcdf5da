// Package streams opens the streams of kubewright-streams as kubectl does: with the executors and dialers of client-go. The server is at the
// address in KUBEWRIGHT_STREAMS; it runs the commands that the tests name.
package streams

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/httpstream"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/client-go/util/exec"
	streaming "k8s.io/streaming/pkg/httpstream"
)

func server(t *testing.T) string {
	t.Helper()
	address := os.Getenv("KUBEWRIGHT_STREAMS")
	if address == "" {
		t.Skip("KUBEWRIGHT_STREAMS is not set")
	}
	return "http://" + address
}

// command returns the URL of a command.
func command(t *testing.T, parameters string, words ...string) *url.URL {
	t.Helper()
	text := server(t) + "/exec?" + parameters
	for _, word := range words {
		text += "&command=" + url.QueryEscape(word)
	}
	parsed, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// transports are the ways to run a command.
var transports = map[string]func(*url.URL) (remotecommand.Executor, error){
	"websocket v5": func(u *url.URL) (remotecommand.Executor, error) {
		return remotecommand.NewWebSocketExecutor(&rest.Config{Host: u.Host}, "GET", u.String())
	},
	"websocket v4": func(u *url.URL) (remotecommand.Executor, error) {
		return remotecommand.NewWebSocketExecutorForProtocols(&rest.Config{Host: u.Host}, "GET", u.String(), "v4.channel.k8s.io")
	},
	"spdy":    overSPDY("v4.channel.k8s.io", "v3.channel.k8s.io", "v2.channel.k8s.io", "channel.k8s.io"),
	"spdy v3": overSPDY("v3.channel.k8s.io"),
	"spdy v2": overSPDY("v2.channel.k8s.io"),
	"spdy v1": overSPDY("channel.k8s.io"),
}

func overSPDY(protocols ...string) func(*url.URL) (remotecommand.Executor, error) {
	return func(u *url.URL) (remotecommand.Executor, error) {
		transport, upgrader, err := spdy.RoundTripperFor(&rest.Config{Host: u.Host})
		if err != nil {
			return nil, err
		}
		return remotecommand.NewSPDYExecutorForProtocols(transport, upgrader, "POST", u, protocols...)
	}
}

// sizes is a queue with one size.
type sizes chan remotecommand.TerminalSize

func (s sizes) Next() *remotecommand.TerminalSize {
	size, ok := <-s
	if !ok {
		return nil
	}
	return &size
}

func run(t *testing.T, transport string, u *url.URL, options remotecommand.StreamOptions) error {
	t.Helper()
	executor, err := transports[transport](u)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return executor.StreamWithContext(ctx, options)
}

func TestStandardStreamsAreKeptApart(t *testing.T) {
	for transport := range transports {
		t.Run(transport, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			u := command(t, "stdout=true&stderr=true", "both")
			err := run(t, transport, u, remotecommand.StreamOptions{Stdout: &stdout, Stderr: &stderr})
			if err != nil || stdout.String() != "to stdout" || stderr.String() != "to stderr" {
				t.Fatalf("%v: %q %q", err, stdout.String(), stderr.String())
			}
		})
	}
}

func TestExitCodesArrive(t *testing.T) {
	for _, transport := range []string{"websocket v5", "websocket v4", "spdy"} {
		t.Run(transport, func(t *testing.T) {
			u := command(t, "stdout=true", "exit", "7")
			err := run(t, transport, u, remotecommand.StreamOptions{Stdout: io.Discard})
			var exit exec.CodeExitError
			if !errors.As(err, &exit) || exit.Code != 7 {
				t.Fatalf("%T: %v", err, err)
			}
		})
	}
	// The client of the first version does not wait for the error.
	for _, transport := range []string{"spdy v3", "spdy v2"} {
		t.Run(transport, func(t *testing.T) {
			u := command(t, "stdout=true", "exit", "7")
			err := run(t, transport, u, remotecommand.StreamOptions{Stdout: io.Discard})
			if err == nil || !strings.Contains(err.Error(), "exit code 7") {
				t.Fatal(err)
			}
		})
	}
}

func TestMegabytesComeBack(t *testing.T) {
	sent := bytes.Repeat([]byte("0123456789abcdef"), 4<<16)
	// The older protocol of WebSockets cannot say that standard input ends.
	for _, transport := range []string{"websocket v5", "spdy", "spdy v2"} {
		t.Run(transport, func(t *testing.T) {
			var stdout bytes.Buffer
			u := command(t, "stdin=true&stdout=true", "echo")
			err := run(t, transport, u, remotecommand.StreamOptions{Stdin: bytes.NewReader(sent), Stdout: &stdout})
			if err != nil || !bytes.Equal(stdout.Bytes(), sent) {
				t.Fatalf("%v: %d bytes", err, stdout.Len())
			}
		})
	}
}

func TestTerminalsHaveASize(t *testing.T) {
	for _, transport := range []string{"websocket v5", "websocket v4", "spdy", "spdy v3"} {
		t.Run(transport, func(t *testing.T) {
			queue := make(sizes, 1)
			queue <- remotecommand.TerminalSize{Width: 100, Height: 40}
			var stdout bytes.Buffer
			u := command(t, "stdout=true&tty=true", "size")
			err := run(t, transport, u, remotecommand.StreamOptions{Stdout: &stdout, Tty: true, TerminalSizeQueue: queue})
			close(queue)
			if err != nil || stdout.String() != "100x40" {
				t.Fatalf("%v: %q", err, stdout.String())
			}
		})
	}
}

func TestUnknownProtocolsFallBack(t *testing.T) {
	u := command(t, "stdout=true", "both")
	websocket, err := remotecommand.NewWebSocketExecutorForProtocols(&rest.Config{Host: u.Host}, "GET", u.String(), "v9.channel.k8s.io")
	if err != nil {
		t.Fatal(err)
	}
	err = websocket.StreamWithContext(context.Background(), remotecommand.StreamOptions{Stdout: io.Discard})
	if !streaming.IsUpgradeFailure(err) {
		t.Fatalf("%T: %v", err, err)
	}
	err = run(t, "spdy", command(t, "stdout=true", "both"), remotecommand.StreamOptions{Stdout: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
}

func TestPortsAreForwarded(t *testing.T) {
	u, err := url.Parse(server(t) + "/portforward")
	if err != nil {
		t.Fatal(err)
	}
	config := &rest.Config{Host: u.Host}
	tunnel, err := portforward.NewSPDYOverWebsocketDialer(u, config)
	if err != nil {
		t.Fatal(err)
	}
	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		t.Fatal(err)
	}
	dialers := map[string]httpstream.Dialer{
		"tunnel": tunnel,
		"spdy":   spdy.NewDialer(upgrader, &http.Client{Transport: transport}, "POST", u),
	}
	for name, dialer := range dialers {
		t.Run(name, func(t *testing.T) {
			stop, ready := make(chan struct{}), make(chan struct{})
			var failures bytes.Buffer
			forwarder, err := portforward.New(dialer, []string{"0:80", "0:81"}, stop, ready, io.Discard, &failures)
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan error, 1)
			go func() { done <- forwarder.ForwardPorts() }()
			select {
			case <-ready:
			case err := <-done:
				t.Fatal(err)
			}
			ports, err := forwarder.GetPorts()
			if err != nil {
				t.Fatal(err)
			}
			// Several connections at once, each with its own bytes.
			var open []net.Conn
			for i := 0; i < 3; i++ {
				conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", ports[0].Local))
				if err != nil {
					t.Fatal(err)
				}
				if _, err := fmt.Fprintf(conn, "hello %d\n", i); err != nil {
					t.Fatal(err)
				}
				open = append(open, conn)
			}
			for i, conn := range open {
				if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
					t.Fatal(err)
				}
				answer, err := io.ReadAll(conn)
				if err != nil || string(answer) != fmt.Sprintf("port 80: hello %d\n", i) {
					t.Fatalf("%v: %q", err, answer)
				}
			}
			// The other port refuses, and the forwarder reports it.
			conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", ports[1].Local))
			if err != nil {
				t.Fatal(err)
			}
			if answer, _ := io.ReadAll(conn); len(answer) != 0 {
				t.Fatalf("%q", answer)
			}
			close(stop)
			<-done
		})
	}
}
