package webhooks

import (
	"strings"
)

// destinationCase is one row of the table: a URL and where a request to it may
// end up.
type destinationCase struct {
	url string
	// reach lists the addresses that may be reached; at least one must be. Empty:
	// the URL is refused.
	reach string
	// reachCgo is for the resolver of the C library when it differs; "-" is empty.
	// It does not look for absolute names in the hosts file.
	reachCgo string
	// reason is that of [Guard.CheckURL]. Empty: it accepts the URL, and the name's addresses
	// decide.
	reason string
}

// anyReason is where some versions of Go refuse the URL, and we in others.
const anyReason = "any"

// publicAddresses are the first and the last beside each special block, and some
// well-known ones. They are written out, not made from the table under test.
var publicAddresses = strings.Fields(`
	1.0.0.0 1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0
	168.63.129.15 168.63.129.17 169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 191.255.255.255
	192.0.1.0 192.0.1.255 192.0.3.0 192.31.195.255 192.31.197.0 192.52.192.255 192.52.194.0 192.88.98.255 192.88.100.0
	192.167.255.255 192.169.0.0 192.175.47.255 192.175.49.0 198.17.255.255 198.20.0.0 198.51.99.255 198.51.101.0
	203.0.112.255 203.0.114.0 223.255.255.255
	2000::1 2001:200:: 2001:4860:4860::8888 2001:db7:ffff:ffff:ffff:ffff:ffff:ffff 2001:db9:: 2003:: 2400:cb00::1
	2606:4700::1111 2620:4f:7fff:ffff:ffff:ffff:ffff:ffff 2620:4f:8001:: 2a00:1450::1 2c0f::1
	3ffd:ffff:ffff:ffff:ffff:ffff:ffff:ffff 3fff:1000:: 3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 2606:4700::5eff:a00:1`)

// insideAddresses are the edges of what is not public, and what lives there.
var insideAddresses = strings.Fields(`
	0.0.0.0 0.0.0.1 0.255.255.255 10.0.0.0 10.0.0.1 10.255.255.255 100.64.0.0 100.100.100.200 100.127.255.255
	127.0.0.0 127.0.0.1 127.0.0.53 127.255.255.254 127.255.255.255 168.63.129.16 169.254.0.0 169.254.169.254 169.254.170.2 169.254.255.255
	172.16.0.0 172.17.0.1 172.31.255.255 192.0.0.0 192.0.0.8 192.0.0.9 192.0.0.170 192.0.0.192 192.0.0.255 192.0.2.0 192.0.2.255
	192.31.196.0 192.31.196.255 192.52.193.0 192.52.193.255 192.88.99.0 192.88.99.2 192.88.99.255 192.168.0.0 192.168.1.1 192.168.255.255
	192.175.48.0 192.175.48.255 198.18.0.0 198.19.255.255 198.51.100.0 198.51.100.255 203.0.113.0 203.0.113.255
	224.0.0.0 224.0.0.1 239.255.255.250 239.255.255.255 240.0.0.0 255.255.255.254 255.255.255.255
	:: ::1 ::2 ::7f00:1 ::a00:1 ::808:808 ::ffff:0:7f00:1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254 ::ffff:0.0.0.0
	64:ff9b::7f00:1 64:ff9b::a9fe:a9fe 64:ff9b::808:808 64:ff9b:1::1 64:ff9b:1:ffff:ffff:ffff:ffff:ffff
	100::1 100:0:0:1::1 200::1 400::1 1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff
	2001::1 2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:1::1 2001:1::2 2001:1::3 2001:2::1 2001:3::1 2001:4:112::1 2001:10::1 2001:20::1 2001:30::1
	2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff 2001:db8:: 2001:db8:ffff:ffff:ffff:ffff:ffff:ffff
	2002:: 2002:7f00:1:: 2002:a00:1::1 2002:808:808::1 2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff 2620:4f:8000:: 2620:4f:8000:ffff:ffff:ffff:ffff:ffff
	3ffe:: 3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff 3fff:: 3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff 4000:: 4000::1 5f00::1 6000::1 8000::1 a000::1 c000::1 e000::1 f000::1 f800::1
	fc00::1 fd00:ec2::254 fd20:ce::254 fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff fe00::1 fe80::1 fe80::a9fe:a9fe febf::1 fec0::1 fec0:0:0:ffff::1 feff::1
	ff00::1 ff02::1 ff05::2 ff0e::1
	2606:4700::5efe:7f00:1 2606:4700::200:5efe:a00:1 2606:4700::100:5efe:a00:1 2606:4700::300:5efe:808:808 2001:4860::5efe:a9fe:a9fe`)

// otherCases are all that is not one address in plain form.
var otherCases = []destinationCase{
	// Names.
	{url: "http://public.example/", reach: "8.8.8.8"},
	{url: "http://PUBLIC.Example:80/a?b=c%20d", reach: "8.8.8.8"},
	{url: "http://public.example./", reach: "8.8.8.8"},
	{url: "http://public.example:8080/", reach: "8.8.8.8"},
	{url: "https://public.example/", reach: "8.8.8.8"},
	{url: "https://public.example:8443/", reach: "8.8.8.8"},
	{url: "HTTPS://8.8.8.8:8443/", reach: "8.8.8.8"},
	{url: "http://ｐｕｂｌｉｃ。ｅｘａｍｐｌｅ/", reach: "8.8.8.8"},
	{url: "http://bücher.example/", reach: "8.8.4.4"},
	{url: "http://xn--bcher-kva.example/", reach: "8.8.4.4"},
	{url: "http://under_score.example/", reach: "8.8.4.4"},
	{url: "http://six.example/", reach: "2606:4700::1111"},
	{url: "http://both.example/", reach: "8.8.8.8 2606:4700::1111"},
	{url: "http://10.0.0.1.example/", reach: "8.8.8.8"},
	{url: "http://localhost.public.example/", reach: "8.8.8.8"},
	{url: "http://0x7f000001.public.example/", reach: "8.8.8.8"},
	{url: "http://public.example/?to=http://10.0.0.1/&at=@10.0.0.1", reach: "8.8.8.8"},
	{url: "http://public.example//10.0.0.1/..%2f", reach: "8.8.8.8"},
	{url: "http://nowhere.example/"},
	{url: "http://nothing.example/"}, // exists, without addresses
	{url: "http://many.example/", reach: "9.9.9.1 9.9.9.2 9.9.9.3 9.9.9.4 9.9.9.5 9.9.9.6 9.9.9.7 9.9.9.8 9.9.9.9"},
	{url: "http://many-and-one.example/"}, // over TCP: forty public addresses, the last one is not

	// Names with an address inside.
	{url: "http://loopback.example/"},
	{url: "http://loopback.example./"},
	{url: "http://loopback.example:8080/"},
	{url: "https://loopback.example/"},
	{url: "http://ｌｏｏｐｂａｃｋ.example/"},
	{url: "http://loopback6.example/"},
	{url: "http://metadata.example/latest/meta-data/"},
	{url: "http://unspecified.example/"},
	{url: "http://mixed.example/"},
	{url: "http://mixed-first.example/"},
	{url: "http://four-public-six-inside.example/"},
	{url: "http://six-public-four-inside.example/"},
	{url: "http://mapped-inside.example/"},
	{url: "http://mapped-public.example/", reach: "8.8.8.8"},

	// Aliases.
	{url: "http://alias.example/", reach: "8.8.8.8"},
	{url: "http://alias-of-alias.example/", reach: "8.8.8.8"},
	{url: "http://alias-inside.example/"},
	{url: "http://alias-of-alias-inside.example/"},
	{url: "http://alias-localhost.example/"},
	{url: "http://alias-internal.example/"},
	{url: "http://alias-mixed.example/"},
	{url: "http://alias-nowhere.example/"},
	{url: "http://alias-loop.example/"},

	// The search list of resolv.conf has corp.test and example.
	{url: "http://both-in-search.example/", reach: "8.8.8.8"},
	{url: "http://only-in-search.example/"},
	{url: "http://only-in-search-inside.example/"},
	{url: "http://public/", reason: reasonSpecial}, // public.example, through the search list
	{url: "http://intranet/", reason: reasonSpecial},

	// The hosts file.
	{url: "http://inside-in-hosts.example/", reachCgo: "8.8.8.8"}, // DNS says 8.8.8.8
	{url: "http://public-in-hosts.example/", reach: "8.8.4.4", reachCgo: "-"},
	{url: "http://loopback-in-hosts.example/"},
	{url: "http://onpremises/", reason: reasonSpecial},
	{url: "http://localhost/", reason: reasonSpecial},
	{url: "http://localhost:8080/", reason: reasonSpecial},
	{url: "http://LOCALHOST./", reason: reasonSpecial},
	{url: "http://ｌｏｃａｌｈｏｓｔ/", reason: reasonSpecial},
	{url: "http://loc\u00adalhost/", reason: reasonCharacters},
	{url: "http://ⓛocalhost/", reason: reasonSpecial},

	// Names that public DNS does not serve, although this DNS does.
	{url: "http://a.localhost/", reason: reasonSpecial},
	{url: "http://metadata.google.internal/", reason: reasonSpecial},
	{url: "http://printer.local/", reason: reasonSpecial},
	{url: "http://router.lan/", reason: reasonSpecial},
	{url: "http://router.home.arpa/", reason: reasonSpecial},
	{url: "http://api.default.svc/", reason: reasonSpecial},
	{url: "http://host.localdomain/", reason: reasonSpecial},
	{url: "http://kubernetes.default.svc.cluster.local/", reason: reasonSpecial},

	// 127.0.0.1 and others in forms that some readers know.
	{url: "http://2130706433/", reason: reasonNumber},
	{url: "http://0x7f000001/", reason: reasonNumber},
	{url: "http://0X7F000001/", reason: reasonNumber},
	{url: "http://017700000001/", reason: reasonNumber},
	{url: "http://0177.0.0.1/", reason: reasonNumber},
	{url: "http://0x7f.0.0.1/", reason: reasonNumber},
	{url: "http://0x7f.0x0.0x0.0x1/", reason: reasonNumber},
	{url: "http://0x7f.1/", reason: reasonNumber},
	{url: "http://127.1/", reason: reasonNumber},
	{url: "http://127.0.1/", reason: reasonNumber},
	{url: "http://127.00.00.01/", reason: reasonNumber},
	{url: "http://127.0.0.1./", reason: reasonNumber},
	{url: "http://127.0.0.0x1/", reason: reasonNumber},
	{url: "http://0/", reason: reasonNumber},
	{url: "http://0x0/", reason: reasonNumber},
	{url: "http://00/", reason: reasonNumber},
	{url: "http://0000000000000000177.0.0.1/", reason: reasonNumber},
	{url: "http://0x00000000007f000001/", reason: reasonNumber},
	{url: "http://18446744071544832001/", reason: reasonNumber}, // 127.0.0.1 in 64 bits
	{url: "http://127.65537/", reason: reasonNumber},
	{url: "http://167772161/", reason: reasonNumber},  // 10.0.0.1
	{url: "http://2852039166/", reason: reasonNumber}, // 169.254.169.254
	{url: "http://0xa9fea9fe/", reason: reasonNumber}, // 169.254.169.254
	{url: "http://0251.0376.0251.0376/", reason: reasonNumber},
	{url: "http://169.16689662/", reason: reasonNumber},
	{url: "http://10.1/", reason: reasonNumber},
	{url: "http://192.168.257/", reason: reasonNumber},
	{url: "http://425.510.425.510/", reason: reasonNumber}, // each modulo 256
	{url: "http://134744072/", reason: reasonNumber},       // 8.8.8.8: public, and not in plain form
	{url: "http://8.8.2056/", reason: reasonNumber},
	{url: "http://010.8.8.8/", reason: reasonNumber},
	{url: "http://8.8.8.8./", reason: reasonNumber},
	{url: "http://8.8.8.08/", reason: reasonNumber},

	// The same with characters that are mapped to digits and stops.
	{url: "http://１２７.０.０.１/", reason: reasonNumber},
	{url: "http://１２７。０。０。１/", reason: reasonNumber},
	{url: "http://127。0。0。1/", reason: reasonNumber},
	{url: "http://127．0．0．1/", reason: reasonNumber},
	{url: "http://127｡0｡0｡1/", reason: reasonNumber},
	{url: "http://①②⑦.⓪.⓪.①/", reason: reasonNumber},
	{url: "http://①⑥⑨.②⑤④.①⑥⑨.②⑤④/", reason: reasonNumber},
	{url: "http://⑯⑨.②⑤④.⑯⑨.②⑤④/", reason: reasonNumber},
	{url: "http://１６９.２５４.１６９.２５４/", reason: reasonNumber},
	{url: "http://𝟏𝟐𝟕.𝟎.𝟎.𝟏/", reason: reasonNumber},
	{url: "http://𝟙𝟚𝟟.0.0.1/", reason: reasonNumber},
	{url: "http://¹²⁷.0.0.1/", reason: reasonNumber},
	{url: "http://₁₂₇.0.0.1/", reason: reasonNumber},
	{url: "http://０ｘ７ｆ.1/", reason: reasonNumber},
	{url: "http://０x7f000001/", reason: reasonNumber},
	{url: "http://２１３０７０６４３３/", reason: reasonNumber},
	{url: "http://１0.0.0.1/", reason: reasonNumber},
	{url: "http://８.８.８.８/", reason: reasonNumber},
	{url: "http://127.0.0.\u200b1/", reason: reasonCharacters},
	{url: "http://1\u00ad27.0.0.1/", reason: reasonCharacters},
	{url: "http://١٢٧.٠.٠.١/", reason: reasonHost}, // Arabic-Indic digits are no digits of an address
	{url: "http://%31%32%37.0.0.1/", reason: anyReason},
	{url: "http://127.0.0.1%2f@public.example/", reason: anyReason},
	{url: "http://%EF%BC%91%EF%BC%92%EF%BC%97.0.0.1/", reason: anyReason},

	// IPv6 in other forms.
	{url: "http://[0:0:0:0:0:0:0:1]/", reason: reasonAddress},
	{url: "http://[0000:0000:0000:0000:0000:0000:0000:0001]/", reason: reasonAddress},
	{url: "http://[::0.0.0.1]/", reason: reasonAddress},
	{url: "http://[::127.0.0.1]/", reason: reasonAddress},
	{url: "http://[::ffff:8.8.8.8]/", reason: reasonAddress},
	{url: "http://[::ffff:808:808]/", reason: reasonAddress},
	{url: "http://[0:0:0:0:0:ffff:127.0.0.1]/", reason: reasonAddress},
	{url: "http://[::FFFF:7F00:1]/", reason: reasonAddress},
	{url: "http://[64:ff9b::127.0.0.1]/", reason: reasonAddress},
	{url: "http://[2606:4700::0:1111]/", reach: "2606:4700::1111"},
	{url: "http://[2606:4700:0:0:0:0:0:1111]/", reach: "2606:4700::1111"},
	{url: "http://[2606:4700::1111]:8080/", reach: "2606:4700::1111"},
	{url: "https://[2606:4700::1111]/", reach: "2606:4700::1111"},
	{url: "http://[fe80::1%25lo]/", reason: anyReason},
	{url: "http://[fe80::1%25]/", reason: anyReason},
	{url: "http://[fe80::1%lo]/", reason: anyReason},
	{url: "http://[::1%25lo]/", reason: anyReason},
	{url: "http://[2606:4700::1111%25lo]/", reason: anyReason},
	{url: "http://[2606:4700::1111%25%32]/", reason: anyReason},
	{url: "http://[2606:4700::1111/", reason: anyReason},
	{url: "http://2606:4700::1111/", reason: anyReason},
	{url: "http://::1/", reason: anyReason},
	{url: "http://[::1]:80:80/", reason: anyReason},
	{url: "http://[::1]a/", reason: anyReason},
	{url: "http://[127.0.0.1]/", reason: anyReason},
	{url: "http://[8.8.8.8]/", reason: anyReason},
	{url: "http://[public.example]/", reason: anyReason},
	{url: "http://[0x7f000001]/", reason: anyReason},
	{url: "http://[v1.127.0.0.1]/", reason: anyReason},
	{url: "http://[]/", reason: anyReason},
	{url: "http://[::１]/", reason: anyReason},

	// Two readers, two hosts.
	{url: "http://public.example@127.0.0.1/", reason: reasonUserinfo},
	{url: "http://127.0.0.1@public.example/", reason: reasonUserinfo},
	{url: "http://public.example:80@127.0.0.1/", reason: reasonUserinfo},
	{url: "http://@127.0.0.1/", reason: reasonUserinfo},
	{url: "http://127.0.0.1#@public.example/", reason: reasonFragment},
	{url: "http://public.example#@127.0.0.1/", reason: reasonFragment},
	{url: "http://127.0.0.1?@public.example/", reason: reasonAddress},
	{url: `http://127.0.0.1\@public.example/`, reason: reasonCharacters},
	{url: `http://public.example\@127.0.0.1/`, reason: reasonCharacters},
	{url: `http:\\127.0.0.1\`, reason: reasonCharacters},
	{url: "http://127.0.0.1 public.example/", reason: reasonCharacters},
	{url: "http://127.0.0.1\t/", reason: reasonCharacters},
	{url: "http://127.0.0.1\x00.public.example/", reason: reasonCharacters},
	{url: "http://127.0.0.1\r\nHost: public.example/", reason: reasonCharacters},
	{url: " http://127.0.0.1/", reason: reasonCharacters},
	{url: "http:///127.0.0.1/", reason: reasonSyntax},
	{url: "http:127.0.0.1/", reason: reasonSyntax},
	{url: "//127.0.0.1/", reason: reasonScheme},
	{url: "127.0.0.1", reason: reasonScheme},
	{url: "http://127.0.0.1,public.example/", reason: reasonHost},
	{url: "http://public.example,127.0.0.1/", reason: reasonHost},
	{url: "http://127.0.0.1;public.example/", reason: reasonHost},
	{url: "http://.127.0.0.1/", reason: reasonHost},
	{url: "http://127..0.0.1/", reason: reasonHost},
	{url: "http://public..example/", reason: reasonHost},
	{url: "http://public.example../", reason: reasonHost},
	{url: "http:// /", reason: reasonCharacters},
	{url: "http://./", reason: reasonHost},
	{url: "http://%00/", reason: anyReason},

	// Schemes and ports.
	{url: "ftp://public.example/", reason: reasonScheme},
	{url: "file:///etc/passwd", reason: reasonScheme},
	{url: "gopher://127.0.0.1:8080/_", reason: reasonScheme},
	{url: "unix:///var/run/docker.sock", reason: reasonScheme},
	{url: "http+unix://%2fvar%2frun%2fdocker.sock/", reason: anyReason},
	{url: "ws://public.example/", reason: reasonScheme},
	{url: "dict://127.0.0.1:8080/", reason: reasonScheme},
	{url: "jar:http://127.0.0.1/", reason: reasonScheme},
	{url: "http://public.example:0/", reason: reasonPort},
	{url: "http://public.example:22/", reason: reasonPort},
	{url: "http://public.example:25/", reason: reasonPort},
	{url: "http://public.example:6000/", reason: reasonPort},
	{url: "http://public.example:65616/", reason: reasonPort}, // 80 modulo 65536
	{url: "http://public.example:-80/", reason: anyReason},
	{url: "http://public.example:0x50/", reason: reasonSyntax},
	{url: "http://public.example:080/", reason: reasonPort},
	{url: "http://public.example:８０/", reason: anyReason},
	{url: "http://public.example:http/", reason: anyReason},

	// What is refused before a name is looked up.
	{url: "", reason: reasonLength},
	{url: "https://h.example/" + strings.Repeat("a", 2048), reason: reasonLength},
	{url: "https://h.example/a b", reason: reasonCharacters},
	{url: " https://h.example/", reason: reasonCharacters},
	{url: "https://h.example/\t", reason: reasonCharacters},
	{url: "https://h.example/\r\nX: y", reason: reasonCharacters},
	{url: "https://h.example/\x00", reason: reasonCharacters},
	{url: "https://h.example/\x7f", reason: reasonCharacters},
	{url: "https://h.example/\u00a0", reason: reasonCharacters},
	{url: "https://h.example/\u2028", reason: reasonCharacters},
	{url: "https://h.example/\xff", reason: reasonCharacters},
	{url: `https:\\h.example\`, reason: reasonCharacters},
	{url: `https://h.example\@10.0.0.1/`, reason: reasonCharacters},
	{url: "h.example", reason: reasonScheme},
	{url: "gopher://h.example/", reason: reasonScheme},
	{url: "javascript:alert(1)", reason: reasonScheme},
	{url: "https:h.example", reason: reasonSyntax},
	{url: "https:/h.example", reason: reasonSyntax},
	{url: "https:///h.example", reason: reasonSyntax},
	{url: "https://", reason: reasonSyntax},
	{url: "https://?", reason: reasonSyntax},
	{url: "https://h.example/%zz", reason: reasonSyntax},
	{url: "https://user@h.example/", reason: reasonUserinfo},
	{url: "https://user:pass@h.example/", reason: reasonUserinfo},
	{url: "https://@h.example/", reason: reasonUserinfo},
	{url: "https://h.example@10.0.0.1/", reason: reasonUserinfo},
	{url: "https://h.example/#", reason: reasonFragment},
	{url: "https://h.example/a#b", reason: reasonFragment},
	{url: "https://10.0.0.1#@h.example/", reason: reasonFragment},
	{url: "https://h.example:00443/", reason: reasonPort},
	{url: "https://h.example:65536/", reason: reasonPort},
	{url: "https://h.example:6667/", reason: reasonPort},
	{url: "https://h.example:10080/", reason: reasonPort},
	{url: "https://[2606:4700::1]:25/", reason: reasonPort},
	{url: "https://a.localdomain/", reason: reasonSpecial},
	{url: "https://nas.lan/", reason: reasonSpecial},
	{url: "https://com/", reason: reasonSpecial},
	{url: "https://a..example/", reason: reasonHost},
	{url: "https://.example/", reason: reasonHost},
	{url: "https://-a.example/", reason: reasonHost},
	{url: "https://a=b.example/", reason: reasonHost},
	{url: "https://a-.example/", reason: reasonHost},
	{url: "https://a,b.example/", reason: reasonHost},
	{url: "https://h%2eexample/", reason: reasonSyntax},
	{url: "https://%EF%BC%91.example/", reason: reasonHost},
	{url: "https://xn--a.example/", reason: reasonHost},
	{url: "https://" + strings.Repeat("a", 64) + ".example/", reason: reasonHost},
	{url: "https://" + strings.Repeat("a.", 125) + "example/", reason: reasonHost},
	{url: "http://127.0.0.01/", reason: reasonNumber},
	{url: "http://8.8.8/", reason: reasonNumber},
	{url: "http://8.8.8.8.8/", reason: reasonNumber},
	{url: "http://8.8.8.256/", reason: reasonNumber},
	{url: "http://h.example.1/", reason: reasonNumber},
	{url: "http://h.0x/", reason: reasonNumber},
	{url: "http://８.8.8.8/", reason: reasonNumber},
	{url: "http://①②⑦.0.0.1/", reason: reasonNumber},
	{url: "http://⒈⒈⒈1/", reason: reasonHost}, // digits with a full stop
	{url: "http://[fe80::1%25eth0]/", reason: anyReason},
	{url: "http://[2606:4700::1%25eth0]/", reason: anyReason},
	{url: "http://[2606:4700::1/", reason: anyReason},
	{url: "http://2606:4700::1/", reason: anyReason},
	{url: "http://a:b:80/", reason: anyReason},
	{url: "http://[2606:4700::1]a/", reason: anyReason},
	{url: "http://[2606:4700::1]:80:80/", reason: anyReason},
	{url: "http://h.example:80a/", reason: anyReason},
	{url: "http://h.example:+80/", reason: anyReason},
}
