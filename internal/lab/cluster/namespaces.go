//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// All of the cluster lives in namespaces of its own for processes, networks, mounts and
// System V's shared memory. Nothing of it is seen outside, and the kernel removes everything
// when the first process in there ends, however it ends.

var (
	errNoNamespaces = errors.New("no namespaces of our own")
	errInside       = errors.New("a failure inside")
)

// cannotEnter is the exit status of a first process that could not make itself at home.
const cannotEnter = 77

// enterNamespaces runs the rest of the program in namespaces of its own.
func enterNamespaces(args []string) error {
	runtime.LockOSThread() // Pdeathsig is about the thread
	first := exec.Command("/proc/self/exe", append([]string{partInit}, args...)...)
	first.Stdout, first.Stderr = os.Stdout, os.Stderr
	first.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWIPC,
		Pdeathsig:  syscall.SIGKILL,
		Setpgid:    true, // Ctrl-C is for us
	}
	if uid, gid := os.Getuid(), os.Getgid(); uid != 0 {
		// Not root: a namespace for users makes us masters of the other ones. We stay who we
		// are, because PostgreSQL does not run as root.
		attributes := first.SysProcAttr
		attributes.Cloneflags |= syscall.CLONE_NEWUSER
		attributes.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		attributes.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
		attributes.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN}
	}
	if err := first.Start(); err != nil {
		return fmt.Errorf("%w: %w", errNoNamespaces, err)
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		_ = first.Process.Kill() // and with it everything
	}()
	err := first.Wait()
	switch {
	case first.ProcessState.ExitCode() == cannotEnter:
		return errNoNamespaces
	case err != nil:
		return errInside
	}
	return nil
}

// runInit is the first process: it mounts what the others need, runs the part that drives,
// and takes notice of the orphans that end.
func runInit(args []string) error {
	for _, m := range []struct {
		source, target, kind string
		flags                uintptr
	}{
		{"", "/", "", syscall.MS_REC | syscall.MS_PRIVATE}, // not seen outside
		{"proc", "/proc", "proc", 0},
		{"tmpfs", "/run", "tmpfs", 0}, // ip netns keeps its names there, and we our files
	} {
		if err := syscall.Mount(m.source, m.target, m.kind, m.flags, ""); err != nil {
			fmt.Fprintf(os.Stderr, "cluster: mount %s: %v\n", m.target, err)
			os.Exit(cannotEnter)
		}
	}
	driving := exec.Command("/proc/self/exe", append([]string{partDrive}, args...)...)
	driving.Stdout, driving.Stderr = os.Stdout, os.Stderr
	if err := driving.Start(); err != nil {
		return err
	}
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return err
		case pid == driving.Process.Pid:
			os.Exit(status.ExitStatus())
		}
	}
}
