package streams

import (
	"bytes"
	"context"
	"encoding/json"
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
)

// cluster is the configuration of a cluster with nodes: its URL, a token, and the file of its authority.
func cluster(t *testing.T) *rest.Config {
	t.Helper()
	host := os.Getenv("KUBEWRIGHT_CLUSTER")
	if host == "" {
		t.Skip("KUBEWRIGHT_CLUSTER is not set")
	}
	return &rest.Config{
		Host:            host,
		BearerToken:     os.Getenv("KUBEWRIGHT_CLUSTER_TOKEN"),
		TLSClientConfig: rest.TLSClientConfig{CAFile: os.Getenv("KUBEWRIGHT_CLUSTER_CA")},
	}
}

const pods = "/api/v1/namespaces/default/pods"

// runPod creates a pod with one container, and waits until it runs.
func runPod(t *testing.T, config *rest.Config, name, container string) {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	body := fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"restartPolicy":"Never","containers":[%s]}}`, name, container)
	created, err := client.Post(config.Host+pods, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := io.ReadAll(created.Body); created.StatusCode != http.StatusCreated {
		t.Fatalf("%s: %s", created.Status, text)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, "GET", config.Host+pods+"?watch=1&fieldSelector=metadata.name="+name, nil)
	if err != nil {
		t.Fatal(err)
	}
	events, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer events.Body.Close()
	for decoder := json.NewDecoder(events.Body); ; {
		var event struct {
			Object struct {
				Status struct{ Phase string }
			}
		}
		if err := decoder.Decode(&event); err != nil {
			t.Fatal(err)
		}
		if event.Object.Status.Phase == "Running" {
			return
		}
	}
}

// subresource returns the URL of a stream of a pod.
func subresource(t *testing.T, config *rest.Config, pod, text string, command ...string) *url.URL {
	t.Helper()
	for _, word := range command {
		text += "&command=" + url.QueryEscape(word)
	}
	parsed, err := url.Parse(config.Host + pods + "/" + pod + "/" + text)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// executors are the ways of client-go to open a command.
var executors = map[string]func(*rest.Config, *url.URL) (remotecommand.Executor, error){
	"websocket": func(config *rest.Config, u *url.URL) (remotecommand.Executor, error) {
		return remotecommand.NewWebSocketExecutor(config, "GET", u.String())
	},
	"spdy": func(config *rest.Config, u *url.URL) (remotecommand.Executor, error) {
		return remotecommand.NewSPDYExecutor(config, "POST", u)
	},
	"fallback": func(config *rest.Config, u *url.URL) (remotecommand.Executor, error) {
		first, err := remotecommand.NewWebSocketExecutorForProtocols(config, "GET", u.String(), "v9.channel.k8s.io")
		if err != nil {
			return nil, err
		}
		second, err := remotecommand.NewSPDYExecutor(config, "POST", u)
		if err != nil {
			return nil, err
		}
		return remotecommand.NewFallbackExecutor(first, second, func(error) bool { return true })
	},
}

func TestOnAClusterCommandsRunInPods(t *testing.T) {
	config := cluster(t)
	runPod(t, config, "exec", `{"name":"c","image":"nginx"}`)
	for name, executor := range executors {
		t.Run(name, func(t *testing.T) {
			script := "read line; echo got $line; echo bad >&2; exit 7"
			u := subresource(t, config, "exec", "exec?stdin=true&stdout=true&stderr=true", "sh", "-c", script)
			open, err := executor(config, u)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			var stdout, stderr bytes.Buffer
			err = open.StreamWithContext(ctx, remotecommand.StreamOptions{
				Stdin: strings.NewReader("some words\n"), Stdout: &stdout, Stderr: &stderr,
			})
			var exit exec.CodeExitError
			if !errors.As(err, &exit) || exit.Code != 7 {
				t.Fatalf("%T: %v", err, err)
			}
			if stdout.String() != "got some words\n" || stderr.String() != "bad\n" {
				t.Fatalf("%q %q", stdout.String(), stderr.String())
			}
		})
	}
}

func TestOnAClusterContainersAreAttachedTo(t *testing.T) {
	config := cluster(t)
	script := "while read line; do echo got $line; if [ $line = stop ]; then exit 5; fi; done"
	for _, name := range []string{"websocket", "spdy"} {
		t.Run(name, func(t *testing.T) {
			pod := "attach-" + name
			runPod(t, config, pod, fmt.Sprintf(`{"name":"c","image":"busybox","stdin":true,"stdinOnce":true,"command":["sh","-c",%q]}`, script))
			u := subresource(t, config, pod, "attach?stdin=true&stdout=true&stderr=true")
			open, err := executors[name](config, u)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			var stdout, stderr bytes.Buffer
			err = open.StreamWithContext(ctx, remotecommand.StreamOptions{
				Stdin: strings.NewReader("one\nstop\n"), Stdout: &stdout, Stderr: &stderr,
			})
			if err != nil || stdout.String() != "got one\ngot stop\n" {
				t.Fatalf("%v: %q", err, stdout.String())
			}
		})
	}
}

func TestOnAClusterPortsAreForwarded(t *testing.T) {
	config := cluster(t)
	runPod(t, config, "web", `{"name":"c","image":"nginx"}`)
	u := subresource(t, config, "web", "portforward")
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
			forwarder, err := portforward.New(dialer, []string{"0:80", "0:81"}, stop, ready, io.Discard, io.Discard)
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
			forwarded, err := forwarder.GetPorts()
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				answer, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/", forwarded[0].Local))
				if err != nil {
					t.Fatal(err)
				}
				page, err := io.ReadAll(answer.Body)
				if err != nil || !strings.Contains(string(page), "Welcome to nginx!") {
					t.Fatalf("%v: %s", err, page)
				}
			}
			// Nothing listens on the other port, and the forwarder ends as it does with a real kubelet.
			conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", forwarded[1].Local))
			if err != nil {
				t.Fatal(err)
			}
			if answer, _ := io.ReadAll(conn); len(answer) != 0 {
				t.Fatalf("%q", answer)
			}
			if err := <-done; !errors.Is(err, portforward.ErrLostConnectionToPod) {
				t.Fatal(err)
			}
		})
	}
}
