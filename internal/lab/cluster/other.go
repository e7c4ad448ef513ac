//go:build !linux

package main

import "fmt"

func main() { fmt.Println("cluster: SKIPPED: it needs the namespaces of Linux") }
